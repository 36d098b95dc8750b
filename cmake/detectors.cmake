# src/detectors/list.def is the one list of detectors. This turns it into
#   REDFLAG_DETECTORS                     names
#   REDFLAG_CLASS_NAME                    the class template of the detector NAME
#   generated/detectors/analyze_NAME.cc   the offline replayer with that detector, a translation unit each
#   generated/detectors/inprocess_NAME.cc the detector with the runtime's memory policy, for the symbol check
#   generated/detectors/hot_paths_NAME.cc the same as analyze_NAME.cc, for counting instructions
#   generated/detectors/list.inc          REDFLAG_DETECTOR lines for the preprocessor
#   generated/detectors/all.h             all headers
#   generated/detectors/typed_list.h      all of them as a type list, for typed tests

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/detectors/list.def)
file(STRINGS src/detectors/list.def lines REGEX "^REDFLAG_DETECTOR\\(")
set(REDFLAG_DETECTORS)
set(REDFLAG_ANALYZE_SOURCES)
set(REDFLAG_INPROCESS_SOURCES)
set(REDFLAG_HOT_PATHS_SOURCES)
set(list_inc)
set(DETECTOR_INCLUDES)
set(DETECTOR_TYPES)
foreach(line IN LISTS lines)
  string(REGEX MATCH "^REDFLAG_DETECTOR\\(([A-Za-z0-9_]+), *([a-z0-9_]+)\\)" _ "${line}")
  set(DETECTOR_CLASS ${CMAKE_MATCH_1})
  set(DETECTOR_NAME ${CMAKE_MATCH_2})
  list(APPEND REDFLAG_DETECTORS ${DETECTOR_NAME})
  set(REDFLAG_CLASS_${DETECTOR_NAME} ${DETECTOR_CLASS})
  set(generated ${PROJECT_BINARY_DIR}/generated/detectors)
  configure_file(cmake/analyze_detector.cc.in ${generated}/analyze_${DETECTOR_NAME}.cc @ONLY)
  configure_file(cmake/inprocess_detector.cc.in ${generated}/inprocess_${DETECTOR_NAME}.cc @ONLY)
  configure_file(cmake/hot_paths_detector.cc.in ${generated}/hot_paths_${DETECTOR_NAME}.cc @ONLY)
  list(APPEND REDFLAG_HOT_PATHS_SOURCES ${generated}/hot_paths_${DETECTOR_NAME}.cc)
  list(APPEND REDFLAG_ANALYZE_SOURCES ${generated}/analyze_${DETECTOR_NAME}.cc)
  list(APPEND REDFLAG_INPROCESS_SOURCES ${generated}/inprocess_${DETECTOR_NAME}.cc)
  string(APPEND DETECTOR_INCLUDES "#include \"detectors/${DETECTOR_NAME}.h\"\n")
  list(APPEND DETECTOR_TYPES "${DETECTOR_CLASS}<PlainMem>")
  string(APPEND list_inc "REDFLAG_DETECTOR(${DETECTOR_CLASS}, ${DETECTOR_NAME})\n")
endforeach()
if(NOT REDFLAG_DETECTORS)
  message(FATAL_ERROR "src/detectors/list.def names no detector")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/detectors/list.inc CONTENT "${list_inc}" @ONLY)
list(JOIN DETECTOR_TYPES ", " DETECTOR_TYPES)
configure_file(cmake/typed_list.h.in ${PROJECT_BINARY_DIR}/generated/detectors/typed_list.h @ONLY)
configure_file(cmake/all.h.in ${PROJECT_BINARY_DIR}/generated/detectors/all.h @ONLY)
