// A ray tracer without any index: 64 spheres in a cube, five lights, shadows, reflection and refraction, after Java
// Grande's raytracer.
//
// The size is the side of the square image. Thread t of n renders the rows t, t + n, t + 2n ... of one shared image, so
// that neighbouring rows belong to different threads. All threads read the scene, a list of objects with virtual
// functions. Each keeps a checksum of its pixels and adds it to the common one under a mutex at the end. (Java Grande
// forgets that lock, a race that many a detector was tried on.)
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "workload.h"

namespace {

constexpr int kMaxDepth = 6;
constexpr double kNear = 1e-6;  // a ray doesn't hit the surface that it leaves

struct Vec {
  double x = 0, y = 0, z = 0;

  friend Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vec operator*(double s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
};
using Colour = Vec;

double Dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vec Cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
Vec Unit(Vec a) { return 1 / std::sqrt(Dot(a, a)) * a; }

struct Ray {
  Vec from, towards;  // `towards` has length 1

  Vec At(double distance) const { return from + distance * towards; }
};

struct Surface {
  Colour colour;
  double shine;      // exponent of the highlight
  double mirrors;    // how much of the light is reflected,
  double transmits;  // and how much goes through
  double index;      // of refraction
};

class Primitive {
 public:
  explicit Primitive(const Surface& surface) : surface_(surface) {}
  virtual ~Primitive() = default;

  // The distance to where the ray first meets this, infinite if it doesn't.
  virtual double Meets(const Ray& ray) const = 0;
  virtual Vec NormalAt(Vec point) const = 0;
  const Surface& surface() const { return surface_; }

 private:
  const Surface surface_;
};

class Sphere : public Primitive {
 public:
  Sphere(Vec centre, double radius, const Surface& surface) : Primitive(surface), centre_(centre), radius_(radius) {}

  double Meets(const Ray& ray) const override {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const Vec to_centre = centre_ - ray.from;
    const double along = Dot(to_centre, ray.towards);
    const double square = along * along - Dot(to_centre, to_centre) + radius_ * radius_;
    if (square < 0) return kNever;
    const double half = std::sqrt(square);
    if (along - half > kNear) return along - half;
    return along + half > kNear ? along + half : kNever;
  }

  Vec NormalAt(Vec point) const override { return 1 / radius_ * (point - centre_); }

 private:
  const Vec centre_;
  const double radius_;
};

struct Light {
  Vec position;
  double brightness;
};

struct Scene {
  std::vector<std::unique_ptr<const Primitive>> primitives;
  std::vector<Light> lights;
  Vec eye, right, up, ahead;
};

Scene MakeScene() {
  constexpr int kEdge = 4;
  constexpr double kSpacing = 20.0 / (kEdge - 1);
  Scene scene;
  for (int i = 0; i < kEdge; ++i)
    for (int j = 0; j < kEdge; ++j)
      for (int k = 0; k < kEdge; ++k) {
        const Colour colour{i / 3.0, j / 3.0, 1 - k / 3.0};
        const Surface surface{.colour = colour, .shine = 15, .mirrors = 0.4, .transmits = 0.2, .index = 1.2};
        const Vec centre{kSpacing * i - 10, kSpacing * j - 10, kSpacing * k - 10};
        scene.primitives.push_back(std::make_unique<Sphere>(centre, 2.5, surface));
      }
  scene.lights = {{{100, 100, -50}, 0.5},
                  {{-100, 100, -50}, 0.5},
                  {{100, -100, -50}, 0.5},
                  {{-100, -100, -50}, 0.5},
                  {{200, 200, 0}, 0.5}};
  scene.eye = {4, 8, -30};
  scene.ahead = Unit(Vec{} - scene.eye);
  scene.right = Unit(Cross({0, 1, 0}, scene.ahead));
  scene.up = Cross(scene.ahead, scene.right);
  return scene;
}

class Tracer {
 public:
  explicit Tracer(const Scene& scene) : scene_(scene) {}

  Colour Trace(const Ray& ray, int depth) const {
    const Primitive* nearest = nullptr;
    double distance = std::numeric_limits<double>::infinity();
    for (const auto& primitive : scene_.primitives)
      if (const double d = primitive->Meets(ray); d < distance) {
        nearest = primitive.get();
        distance = d;
      }
    return nearest != nullptr ? Shade(ray, *nearest, ray.At(distance), depth) : Colour{};
  }

 private:
  Colour Shade(const Ray& ray, const Primitive& primitive, Vec point, int depth) const {
    const Surface& surface = primitive.surface();
    const Vec outward = primitive.NormalAt(point);
    const bool leaving = Dot(outward, ray.towards) > 0;
    const Vec normal = leaving ? -1 * outward : outward;
    const Vec mirrored = ray.towards - 2 * Dot(ray.towards, normal) * normal;

    Colour colour;
    for (const Light& light : scene_.lights) colour = colour + Lit(surface, point, normal, mirrored, light);
    if (depth == kMaxDepth) return colour;
    colour = colour + surface.mirrors * Trace({point, mirrored}, depth + 1);
    if (const auto refracted = Refract(ray.towards, normal, leaving ? surface.index : 1 / surface.index))
      colour = colour + surface.transmits * Trace({point, *refracted}, depth + 1);
    return colour;
  }

  Colour Lit(const Surface& surface, Vec point, Vec normal, Vec mirrored, const Light& light) const {
    const Ray to_light{point, Unit(light.position - point)};
    const double slant = Dot(normal, to_light.towards);
    if (slant <= 0 || InShadow(to_light)) return {};
    const double highlight = std::pow(std::max(Dot(mirrored, to_light.towards), 0.0), surface.shine);
    return light.brightness * (slant * surface.colour + highlight * Colour{1, 1, 1});
  }

  // The lights lie outside the cube, so that whatever is on the way to one is before it.
  bool InShadow(const Ray& to_light) const {
    return std::ranges::any_of(scene_.primitives, [&](const auto& p) { return std::isfinite(p->Meets(to_light)); });
  }

  // Nothing in the case of total reflection.
  static std::optional<Vec> Refract(Vec towards, Vec normal, double ratio) {
    const double cosine = -Dot(towards, normal);
    const double square = 1 - ratio * ratio * (1 - cosine * cosine);
    if (square < 0) return std::nullopt;
    return Unit(ratio * towards + (ratio * cosine - std::sqrt(square)) * normal);
  }

  const Scene& scene_;
};

struct Pixel {
  uint8_t red, green, blue;
};

// The image spans 40 degrees.
Pixel Render(const Scene& scene, size_t x, size_t y, size_t side) {
  constexpr double kHalfAngle = 0.36397;  // its tangent
  const auto across = [&](size_t i) {
    return kHalfAngle * ((2 * static_cast<double>(i) + 1) / static_cast<double>(side) - 1);
  };
  const Vec towards = Unit(scene.ahead + across(x) * scene.right - across(y) * scene.up);
  const Colour colour = Tracer(scene).Trace({scene.eye, towards}, 0);
  const auto level = [](double value) { return static_cast<uint8_t>(std::min(value, 1.0) * 255); };
  return {level(colour.x), level(colour.y), level(colour.z)};
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 150});
  const size_t side = options.size;
  const Scene scene = MakeScene();
  std::vector<Pixel> image(side * side);

  std::mutex mutex;
  uint64_t total = 0;  // guarded by mutex
  workload::InParallel(options.threads, [&](int thread) {
    uint64_t sum = 0;
    for (auto y = static_cast<size_t>(thread); y < side; y += static_cast<size_t>(options.threads))
      for (size_t x = 0; x < side; ++x) {
        const Pixel pixel = image[y * side + x] = Render(scene, x, y, side);
        sum += uint64_t{pixel.red} + pixel.green + pixel.blue;
      }
    const std::lock_guard lock(mutex);
    total += sum;
  });

  workload::Checksum checksum;
  checksum.Add(total);
  for (const Pixel& pixel : image) checksum.Add(uint64_t{pixel.red} << 16 | uint64_t{pixel.green} << 8 | pixel.blue);
  return workload::Finish("raytracer-jgf", checksum.Value());
}
