// Patterns of files of suppressions, for those few that the runtime has to understand itself. All others, and the same for the host side:
// collect/suppression_rule.h.
#pragma once

namespace redflag::rt {

// Does `text` begin with the part of the pattern that goes up to the next `*`? With a `$`, it has to end there, too.
inline bool BeginsWithPart(const char* pattern, const char* text) {
  for (; *pattern != '\0' && *pattern != '*'; ++pattern, ++text) {
    if (*pattern == '$' && pattern[1] == '\0') return *text == '\0';
    if (*pattern != *text) return false;
  }
  return true;
}

// Is what the pattern says somewhere in the text? `*`: anything; ^ and $: the beginning and the end.
// A part that is tied to the end is tried at each place where it is found; for the others, the first is as good as any.
inline bool MatchesRule(const char* pattern, const char* text) {
  bool is_tied = *pattern == '^';
  if (is_tied) ++pattern;
  while (*pattern != '\0') {
    if (*pattern == '*') {
      is_tied = false;
      ++pattern;
      continue;
    }
    while (!BeginsWithPart(pattern, text)) {
      if (is_tied || *text == '\0') return false;
      ++text;
    }
    for (; *pattern != '\0' && *pattern != '*' && *pattern != '$'; ++pattern) ++text;
    if (*pattern == '$') return true;
  }
  return true;
}

}  // namespace redflag::rt
