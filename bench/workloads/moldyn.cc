// Molecular dynamics: 864 argon-like particles in a periodic box under the Lennard-Jones potential, after Java Grande's
// moldyn. Reduced units, velocity Verlet.
//
// The size is the number of time steps. In a step a thread moves the particles of its share; then it visits every
// threads-th row of the triangle of pairs and adds the forces into an array that it alone owns; then it gathers the
// forces on its share out of the arrays of all threads. A pthread barrier divides these phases, and nothing else: every
// particle and every force array is touched by all threads without a lock.
//
// Forces and energies are summed in fixed point, where unlike in floating point the order doesn't matter.
#include <pthread.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr size_t kCells = 6;  // of the face-centred cubic lattice, along each edge of the box
constexpr size_t kParticles = 4 * kCells * kCells * kCells;
constexpr double kCell = 1.6882;  // density 0.8313
constexpr double kSide = kCells * kCell;
constexpr double kCutoff = 2.5;
constexpr double kTemperature = 0.722;
constexpr double kStep = 0.004;

using Vector = std::array<double, 3>;

class Fixed {
 public:
  void Add(double value) { bits_ += static_cast<int64_t>(value * kOne); }
  void Add(Fixed other) { bits_ += other.bits_; }
  double Value() const { return static_cast<double>(bits_) / kOne; }

 private:
  static constexpr double kOne = 0x1p32;
  int64_t bits_ = 0;
};

struct Particle {
  Vector position;
  Vector velocity;
  Vector force;
};

// What one thread found in its pairs.
struct Found {
  std::vector<std::array<Fixed, 3>> forces;
  Fixed potential;  // summed over all steps
  Fixed virial;     // likewise
};

class Barrier {
 public:
  explicit Barrier(int threads) { pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads)); }
  ~Barrier() { pthread_barrier_destroy(&barrier_); }
  void Wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

// A lattice at rest has no net forces; the velocities are normal enough as sums of twelve uniform numbers.
std::vector<Particle> Lattice() {
  constexpr Vector kBase[] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
  workload::Random random(1987);
  std::vector<Particle> particles;
  Vector drift{};
  for (size_t cell = 0; cell < kCells * kCells * kCells; ++cell) {
    const size_t corner[] = {cell % kCells, cell / kCells % kCells, cell / kCells / kCells};
    for (const Vector& base : kBase) {
      Particle& particle = particles.emplace_back();
      for (size_t axis = 0; axis < 3; ++axis) {
        double normal = -6;
        for (int i = 0; i < 12; ++i) normal += random.Unit();
        particle.position[axis] = (static_cast<double>(corner[axis]) + base[axis]) * kCell;
        particle.velocity[axis] = normal * std::sqrt(kTemperature);
        drift[axis] += particle.velocity[axis] / kParticles;
      }
    }
  }
  for (Particle& particle : particles)
    for (size_t axis = 0; axis < 3; ++axis) particle.velocity[axis] -= drift[axis];
  return particles;
}

class Box {
 public:
  explicit Box(int threads) : threads_(threads), barrier_(threads), found_(static_cast<size_t>(threads)) {
    for (Found& found : found_) found.forces.resize(kParticles);
  }

  void Run(int thread, uint64_t steps) {
    const workload::Range share = workload::ShareOf(kParticles, thread, threads_);
    for (uint64_t step = 0; step < steps; ++step) {
      Move(share);
      barrier_.Wait();
      VisitPairs(static_cast<size_t>(thread));
      barrier_.Wait();
      Gather(share);
    }
  }

  uint64_t Result() const {
    Fixed potential, virial, kinetic;
    for (const Found& found : found_) {
      potential.Add(found.potential);
      virial.Add(found.virial);
    }
    for (const Particle& particle : particles_)
      for (const double v : particle.velocity) kinetic.Add(v * v / 2);
    workload::Checksum checksum;
    for (const Fixed& sum : {potential, virial, kinetic}) checksum.Add(sum.Value());
    return checksum.Value();
  }

 private:
  void Move(workload::Range share) {
    for (size_t i = share.begin; i < share.end; ++i)
      for (size_t axis = 0; axis < 3; ++axis) {
        Particle& particle = particles_[i];
        particle.velocity[axis] += kStep / 2 * particle.force[axis];
        double x = particle.position[axis] + kStep * particle.velocity[axis];
        if (x < 0) x += kSide;
        if (x >= kSide) x -= kSide;
        particle.position[axis] = x;
      }
  }

  void VisitPairs(size_t thread) {
    Found& found = found_[thread];
    for (size_t i = thread; i < kParticles; i += found_.size())
      for (size_t j = i + 1; j < kParticles; ++j) {
        const Vector d = Between(particles_[i].position, particles_[j].position);
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (r2 < kCutoff * kCutoff) Interact(found, i, j, d, r2);
      }
  }

  // From b to a's nearest image.
  static Vector Between(const Vector& a, const Vector& b) {
    Vector d;
    for (size_t axis = 0; axis < 3; ++axis) {
      d[axis] = a[axis] - b[axis];
      if (d[axis] < -kSide / 2) d[axis] += kSide;
      if (d[axis] > kSide / 2) d[axis] -= kSide;
    }
    return d;
  }

  static void Interact(Found& found, size_t i, size_t j, const Vector& d, double r2) {
    const double inverse2 = 1 / r2;
    const double inverse6 = inverse2 * inverse2 * inverse2;
    const double pull = 48 * inverse2 * inverse6 * (inverse6 - 0.5);
    for (size_t axis = 0; axis < 3; ++axis) {
      found.forces[i][axis].Add(pull * d[axis]);
      found.forces[j][axis].Add(-pull * d[axis]);
    }
    found.potential.Add(4 * inverse6 * (inverse6 - 1));
    found.virial.Add(pull * r2);
  }

  // Leaves the force arrays empty for the next step.
  void Gather(workload::Range share) {
    for (size_t i = share.begin; i < share.end; ++i)
      for (size_t axis = 0; axis < 3; ++axis) {
        Fixed force;
        for (Found& found : found_) force.Add(std::exchange(found.forces[i][axis], Fixed()));
        particles_[i].force[axis] = force.Value();
        particles_[i].velocity[axis] += kStep / 2 * force.Value();
      }
  }

  const int threads_;
  Barrier barrier_;
  std::vector<Particle> particles_ = Lattice();
  std::vector<Found> found_;  // by thread
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 180});
  Box box(options.threads);
  workload::InParallel(options.threads, [&](int thread) { box.Run(thread, options.size); });
  return workload::Finish("moldyn", box.Result());
}
