// All-pairs n-body: every body attracts every other; each thread moves its share of the bodies.
//
// A step has two phases. First each thread reads all positions and changes the velocities of its own bodies; then it
// changes their positions. So the same words are read by all threads and written by one, in turns, and nothing but
// the barrier keeps these apart: a lockset is empty here, and happens-before changes hands for all data at once.
//
// Synchronization: a std::barrier of all threads after each phase. The size is the number of bodies, for 20 steps.
#include <barrier>
#include <cmath>

#include "workload.h"

namespace {

#ifndef NBODY_STEPS
#define NBODY_STEPS 20
#endif
constexpr int kSteps = NBODY_STEPS;
constexpr double kStepTime = 1e-3;
constexpr double kSoftening = 1e-2;  // squared; also makes the force of a body on itself zero rather than undefined

struct Vector {
  double x, y, z;
};

struct Body {
  Vector position;
  Vector velocity;
  double mass;
};

std::vector<Body> RandomBodies(size_t count) {
  workload::Random random(count);
  const auto vector = [&random](double scale) {
    const double x = random.Unit() - 0.5, y = random.Unit() - 0.5, z = random.Unit() - 0.5;
    return Vector{scale * x, scale * y, scale * z};
  };
  std::vector<Body> bodies(count);
  for (Body& body : bodies) {
    body.position = vector(2.0);
    body.velocity = vector(0.1);
    body.mass = (0.5 + random.Unit()) / static_cast<double>(count);
  }
  return bodies;
}

Vector Acceleration(const Vector& at, const std::vector<Body>& bodies) {
  Vector sum{0, 0, 0};
  for (const Body& other : bodies) {
    const double dx = other.position.x - at.x, dy = other.position.y - at.y, dz = other.position.z - at.z;
    const double squared = dx * dx + dy * dy + dz * dz + kSoftening;
    const double factor = other.mass / (squared * std::sqrt(squared));
    sum.x += dx * factor;
    sum.y += dy * factor;
    sum.z += dz * factor;
  }
  return sum;
}

void AddScaled(Vector* to, const Vector& what, double factor) {
  to->x += what.x * factor;
  to->y += what.y * factor;
  to->z += what.z * factor;
}

void Simulate(std::vector<Body>& bodies, workload::Range own, std::barrier<>& barrier) {
  for (int step = 0; step < kSteps; ++step) {
    for (size_t i = own.begin; i < own.end; ++i) {
      AddScaled(&bodies[i].velocity, Acceleration(bodies[i].position, bodies), kStepTime);
      workload::Progress();
    }
    barrier.arrive_and_wait();
    for (size_t i = own.begin; i < own.end; ++i) AddScaled(&bodies[i].position, bodies[i].velocity, kStepTime);
    barrier.arrive_and_wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 2000});
  std::vector<Body> bodies = RandomBodies(options.size);
  std::barrier<> barrier(options.threads);

  workload::InParallel(options.threads, [&](int thread) {
    Simulate(bodies, workload::ShareOf(bodies.size(), thread, options.threads), barrier);
  });

  workload::Checksum checksum;
  for (const Body& body : bodies) checksum.Add(body.position.x + 2 * body.position.y + 3 * body.position.z);
  return workload::Finish("nbody", checksum.Value());
}
