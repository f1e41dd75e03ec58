//! Random inputs.

use forge::DynTensor;

/// A small generator with the seed of one trial.
pub struct Gen {
    state: u64,
    /// Draws sizes that make the kernels use several tasks.
    pub large: bool,
    /// Never draws an empty axis.
    pub no_empty: bool,
}

impl Gen {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678, large: false, no_empty: false }
    }

    pub fn u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.u64()) * n as u128) >> 64) as usize
    }

    pub fn coin(&mut self) -> bool {
        self.u64() & 1 == 1
    }

    /// Uniform in `lo..hi`, representable in f32.
    pub fn f64(&mut self, lo: f64, hi: f64) -> f64 {
        let u = (self.u64() >> 11) as f64 / (1u64 << 53) as f64;
        f64::from((lo + (hi - lo) * u) as f32)
    }

    /// A size: 1 to 6, seldom 0; in large trials 20 to 90.
    pub fn size(&mut self) -> usize {
        if self.large {
            return 20 + self.below(70);
        }
        if !self.no_empty && self.below(24) == 0 {
            return 0;
        }
        1 + self.below(6)
    }

    /// A size that is never 0.
    pub fn size1(&mut self) -> usize {
        self.size().max(1)
    }

    /// A tensor with the named sizes, values in `lo..hi`, in a random memory layout.
    pub fn tensor(&mut self, axes: &[(&str, usize)], lo: f64, hi: f64) -> DynTensor {
        self.tensor_with(axes, |g| g.f64(lo, hi))
    }

    /// Like [`Self::tensor`], with magnitudes at least `gap`: away from a corner at 0.
    pub fn tensor_off_zero(&mut self, axes: &[(&str, usize)], gap: f64, hi: f64) -> DynTensor {
        self.tensor_with(axes, |g| {
            let v = g.f64(gap, hi);
            if g.coin() { v } else { -v }
        })
    }

    /// A tensor whose elements are all different (by at least 0.05), in random order: no ties.
    pub fn tensor_distinct(&mut self, axes: &[(&str, usize)]) -> DynTensor {
        let n: usize = axes.iter().map(|a| a.1).product();
        let mut v: Vec<f64> = (0..n).map(|i| f64::from((i as f32 - n as f32 / 2.0) * 0.0625)).collect();
        for i in (1..n).rev() {
            let j = self.below(i + 1);
            v.swap(i, j);
        }
        let mut next = v.into_iter();
        self.tensor_with(axes, move |_| next.next().unwrap_or(0.0))
    }

    /// A tensor whose elements `value` draws, in a random memory layout: dense, transposed, flipped or a part of a
    /// larger one.
    pub fn tensor_with(&mut self, axes: &[(&str, usize)], mut value: impl FnMut(&mut Self) -> f64) -> DynTensor {
        let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
        let shape: Vec<usize> = axes.iter().map(|a| a.1).collect();
        let n: usize = shape.iter().product();
        let data: Vec<f64> = (0..n).map(|_| value(self)).collect();
        let dense = DynTensor::from_vec(&names, &shape, data).unwrap();
        self.relaid(&dense)
    }

    /// The same tensor in another memory layout.
    pub fn relaid(&mut self, x: &DynTensor) -> DynTensor {
        let names: Vec<String> = x.axes().iter().map(|a| a.name().to_owned()).collect();
        if names.is_empty() {
            return x.clone();
        }
        match self.below(4) {
            0 => x.clone(),
            // Stored in another order of axes.
            1 => {
                let mut order: Vec<&str> = names.iter().map(String::as_str).collect();
                for i in (1..order.len()).rev() {
                    let j = self.below(i + 1);
                    order.swap(i, j);
                }
                let back: Vec<&str> = names.iter().map(String::as_str).collect();
                x.permute(&order).unwrap().contiguous().permute(&back).unwrap()
            }
            // Stored backwards along one axis.
            2 => {
                let a = names[self.below(names.len())].as_str();
                x.flip(a).unwrap().contiguous().flip(a).unwrap()
            }
            // Every second element of a larger tensor, from 1 on.
            _ => {
                let a = names[self.below(names.len())].clone();
                let n = x.size(a.as_str()).unwrap();
                if n == 0 {
                    return x.clone();
                }
                let wide = x.insert("spread").unwrap().expand("spread", 2).unwrap();
                let mut order: Vec<&str> = Vec::new();
                for b in &names {
                    order.push(b);
                    if *b == a {
                        order.push("spread");
                    }
                }
                let wide = wide.permute(&order).unwrap().contiguous();
                let merged = wide.merge(&[a.as_str(), "spread"], a.as_str()).unwrap();
                merged.slice(a.as_str(), 1, None, 2).unwrap()
            }
        }
    }
}

/// The axes in a random order.
pub fn shuffled<'a>(g: &mut Gen, axes: &[(&'a str, usize)]) -> Vec<(&'a str, usize)> {
    let mut v = axes.to_vec();
    for i in (1..v.len()).rev() {
        let j = g.below(i + 1);
        v.swap(i, j);
    }
    v
}
