// median microseconds of a 64-frame block, for each profile given
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>
#include "NAM/dsp.h"
#include "NAM/get_dsp.h"
#include "NAM/slimmable.h"
#include "NAM/activations.h"
int main(int argc, char** argv) {
  // corebench fast|exact block blocks [slim=V] file...
  bool fast = !strcmp(argv[1], "fast"); int B = atoi(argv[2]); int N = atoi(argv[3]); double slim = -1;
  if (fast) nam::activations::Activation::enable_fast_tanh(); else nam::activations::Activation::disable_fast_tanh();
  for (int a = 4; a < argc; a++) {
    if (!strncmp(argv[a], "slim=", 5)) { slim = atof(argv[a] + 5); continue; }
    auto m = nam::get_dsp(std::filesystem::path(argv[a]));
    if (slim >= 0) { auto* s = dynamic_cast<nam::SlimmableModel*>(m.get()); if (s) s->SetSlimmableSize(slim); }
    double rate = m->GetExpectedSampleRate(); if (rate <= 0) rate = 48000;
    m->Reset(rate, B);
    std::vector<double> in(B), out(B); double *pi = in.data(), *po = out.data();
    unsigned s = 1; std::vector<double> t;
    for (int n = 0; n < N; n++) {
      for (auto& v : in) { s = s * 1664525u + 1013904223u; v = ((int)s / 2147483648.0) * 0.3; }
      auto b = std::chrono::steady_clock::now();
      m->process(&pi, &po, B);
      t.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - b).count());
    }
    std::sort(t.begin(), t.end());
    printf("%s %.2f %.2f %.2f\n", std::filesystem::path(argv[a]).stem().c_str(), t[t.size()/2], t[t.size()/10], t[t.size()*99/100]);
  }
}
