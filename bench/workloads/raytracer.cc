// Ray tracer: all threads read one scene, of spheres over a checkered floor in a bounding volume hierarchy, and each
// writes the pixels of the tiles it draws. Rays are reflected up to four times, and look for the light at each hit.
//
// Truly parallel readers of shared data that never changes, with short-lived objects on each thread's own stack: a
// detector that has room for one reader per word sees the threads push each other out.
//
// Synchronization: an atomic counter hands out the tiles; start and end of threads. The size is the side of the image.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "workload.h"

namespace {

constexpr int kSpheres = 400;
constexpr int kSpheresPerLeaf = 2;
constexpr int kReflections = 4;
constexpr uint64_t kTile = 16;
constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr double kNear = 1e-6;  // keeps a reflected ray from hitting the surface that it leaves

struct Vector {
  double x, y, z;
  Vector operator+(const Vector& v) const { return {x + v.x, y + v.y, z + v.z}; }
  Vector operator-(const Vector& v) const { return {x - v.x, y - v.y, z - v.z}; }
  Vector operator*(double f) const { return {x * f, y * f, z * f}; }
  double operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};
double Dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vector Unit(const Vector& v) { return v * (1 / std::sqrt(Dot(v, v))); }
Vector Least(const Vector& a, const Vector& b) { return {std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)}; }
Vector Most(const Vector& a, const Vector& b) { return {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)}; }

struct Ray {
  Vector origin, direction;  // the direction has length 1
  Vector At(double distance) const { return origin + direction * distance; }
};

struct Surface {
  Vector color;
  double reflection;  // 0: none, 1: a mirror
};

struct Sphere {
  Vector center;
  double radius;
  Surface surface;

  // The distance along the ray at which it enters the sphere, or kFar.
  double Distance(const Ray& ray) const {
    const Vector to = center - ray.origin;
    const double along = Dot(to, ray.direction);
    const double inside = radius * radius - (Dot(to, to) - along * along);
    if (inside < 0) return kFar;
    const double distance = along - std::sqrt(inside);
    return distance > kNear ? distance : kFar;
  }
};

struct Box {
  Vector low{kFar, kFar, kFar}, high{-kFar, -kFar, -kFar};

  void Include(const Sphere& sphere) {
    const Vector radius{sphere.radius, sphere.radius, sphere.radius};
    low = Least(low, sphere.center - radius);
    high = Most(high, sphere.center + radius);
  }
  int LongestAxis() const {
    const Vector size = high - low;
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
  }
  bool IsHit(const Ray& ray, double limit) const {
    double enter = 0, leave = limit;
    for (int axis = 0; axis < 3; ++axis) {
      const double inverse = 1 / ray.direction[axis];
      const double a = (low[axis] - ray.origin[axis]) * inverse, b = (high[axis] - ray.origin[axis]) * inverse;
      enter = std::max(enter, std::min(a, b));
      leave = std::min(leave, std::max(a, b));
    }
    return enter <= leave;
  }
};

struct Hit {
  double distance = kFar;
  const Sphere* sphere = nullptr;
};

// Immutable once it is built.
class Scene {
 public:
  explicit Scene(std::vector<Sphere> spheres) : spheres_(std::move(spheres)) { Build(0, spheres_.size()); }

  // The nearest sphere closer than `limit`.
  Hit Nearest(const Ray& ray, double limit) const {
    Hit hit{limit, nullptr};
    std::array<size_t, 64> pending;
    size_t count = 0;
    pending[count++] = 0;
    while (count > 0) {
      const Node& node = nodes_[pending[--count]];
      if (!node.box.IsHit(ray, hit.distance)) continue;
      for (size_t i = node.first; i < node.last; ++i) {
        const double distance = spheres_[i].Distance(ray);
        if (distance < hit.distance) hit = {distance, &spheres_[i]};
      }
      if (node.right != 0) {
        pending[count++] = node.right;
        pending[count++] = node.left;
      }
    }
    return hit;
  }

 private:
  struct Node {
    Box box;
    size_t first, last;  // the spheres of a leaf; none in an inner node
    size_t left, right;  // 0, the root, stands for none
  };

  // Splits [first, last) at the median of the longest axis; returns the index of the new node.
  size_t Build(size_t first, size_t last) {
    const size_t index = nodes_.size();
    nodes_.push_back({{}, first, last, 0, 0});
    for (size_t i = first; i < last; ++i) nodes_[index].box.Include(spheres_[i]);
    if (last - first <= kSpheresPerLeaf) return index;
    const int axis = nodes_[index].box.LongestAxis();
    const auto at = [this](size_t i) { return spheres_.begin() + static_cast<ptrdiff_t>(i); };
    const size_t middle = first + (last - first) / 2;
    std::nth_element(at(first), at(middle), at(last),
                     [axis](const Sphere& a, const Sphere& b) { return a.center[axis] < b.center[axis]; });
    const size_t left = Build(first, middle), right = Build(middle, last);
    nodes_[index] = {nodes_[index].box, 0, 0, left, right};
    return index;
  }

  std::vector<Sphere> spheres_;
  std::vector<Node> nodes_;
};

Scene RandomScene() {
  workload::Random random(7);
  std::vector<Sphere> spheres;
  for (int i = 0; i < kSpheres; ++i) {
    const double radius = 0.1 + 0.3 * random.Unit();
    const double x = 16 * random.Unit() - 8, y = radius + 3 * random.Unit(), z = 4 + 16 * random.Unit();
    const double red = random.Unit(), green = random.Unit(), blue = random.Unit();
    spheres.push_back({{x, y, z}, radius, {{red, green, blue}, 0.6 * random.Unit()}});
  }
  return Scene(std::move(spheres));
}

constexpr Vector kLight{-6, 12, -4};

Vector Sky(const Ray& ray) { return Vector{0.5, 0.7, 1.0} * (0.6 + 0.4 * ray.direction.y); }

Surface FloorAt(const Vector& point) {
  const bool dark = (static_cast<int64_t>(std::floor(point.x)) + static_cast<int64_t>(std::floor(point.z))) % 2 != 0;
  return dark ? Surface{{0.2, 0.2, 0.2}, 0.3} : Surface{{0.9, 0.9, 0.9}, 0.1};
}

// The color that comes from where the ray hits first.
Vector Trace(const Scene& scene, const Ray& ray, int reflections) {
  const double floor = ray.direction.y < 0 ? -ray.origin.y / ray.direction.y : kFar;
  const Hit hit = scene.Nearest(ray, floor > kNear ? floor : kFar);
  if (hit.distance == kFar) return Sky(ray);

  const Vector point = ray.At(hit.distance);
  const Vector normal = hit.sphere != nullptr ? Unit(point - hit.sphere->center) : Vector{0, 1, 0};
  const Surface surface = hit.sphere != nullptr ? hit.sphere->surface : FloorAt(point);

  const Vector to_light = kLight - point;
  const double light_distance = std::sqrt(Dot(to_light, to_light));
  const Ray shadow{point, to_light * (1 / light_distance)};
  const bool lit = Dot(normal, shadow.direction) > 0 && scene.Nearest(shadow, light_distance).sphere == nullptr;
  const Vector color = surface.color * (0.15 + (lit ? 0.85 * Dot(normal, shadow.direction) : 0));
  if (reflections == 0) return color;

  const Ray mirrored{point, ray.direction - normal * (2 * Dot(normal, ray.direction))};
  return color * (1 - surface.reflection) + Trace(scene, mirrored, reflections - 1) * surface.reflection;
}

uint32_t Pack(const Vector& color) {
  const auto byte = [](double part) { return static_cast<uint32_t>(std::clamp(part, 0.0, 1.0) * 255); };
  return byte(color.x) << 16 | byte(color.y) << 8 | byte(color.z);
}

class Image {
 public:
  explicit Image(uint64_t side) : side_(side), tiles_((side + kTile - 1) / kTile), pixels_(side * side) {}

  uint64_t tiles() const { return tiles_ * tiles_; }
  const std::vector<uint32_t>& pixels() const { return pixels_; }

  void DrawTile(const Scene& scene, uint64_t tile) {
    const uint64_t left = tile % tiles_ * kTile, top = tile / tiles_ * kTile;
    for (uint64_t y = top; y < std::min(top + kTile, side_); ++y)
      for (uint64_t x = left; x < std::min(left + kTile, side_); ++x)
        pixels_[y * side_ + x] = Pack(Trace(scene, CameraRay(x, y), kReflections));
  }

 private:
  Ray CameraRay(uint64_t x, uint64_t y) const {
    const auto centered = [this](uint64_t i) {
      return (static_cast<double>(i) + 0.5) / static_cast<double>(side_) - 0.5;
    };
    return {{0, 2.5, -4}, Unit({centered(x), -centered(y), 0.8})};
  }

  const uint64_t side_, tiles_;
  std::vector<uint32_t> pixels_;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 600});
  const Scene scene = RandomScene();
  Image image(options.size);
  std::atomic<uint64_t> next_tile{0};

  workload::InParallel(options.threads, [&](int) {
    for (uint64_t tile = next_tile++; tile < image.tiles(); tile = next_tile++) image.DrawTile(scene, tile);
  });

  workload::Checksum checksum;
  for (const uint32_t pixel : image.pixels()) checksum.Add(uint64_t{pixel});
  return workload::Finish("raytracer", checksum.Value());
}
