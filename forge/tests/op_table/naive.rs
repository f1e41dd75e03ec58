//! Tensors for the twins: dense f64, and nothing clever.

use forge::{DType, DynTensor};

/// A dense row-major tensor of f64.
#[derive(Clone, Debug)]
pub struct Naive {
    pub axes: Vec<String>,
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

impl Naive {
    pub fn of(x: &DynTensor) -> Self {
        let data = match x.dtype() {
            DType::Bool => x.to_vec::<bool>().unwrap().into_iter().map(f64::from).collect(),
            DType::I64 => x.to_vec::<i64>().unwrap().into_iter().map(|v| v as f64).collect(),
            _ => x.to(DType::F64).unwrap().to_vec::<f64>().unwrap(),
        };
        Self { axes: x.axes().iter().map(|a| a.name().to_owned()).collect(), shape: x.shape().to_vec(), data }
    }

    /// The tensor whose element at `index` is `f(index)`.
    pub fn from_fn(axes: &[(&str, usize)], mut f: impl FnMut(&[usize]) -> f64) -> Self {
        let shape: Vec<usize> = axes.iter().map(|a| a.1).collect();
        let mut data = Vec::new();
        each(&shape, |ix| data.push(f(ix)));
        Self { axes: axes.iter().map(|a| a.0.to_owned()).collect(), shape, data }
    }

    /// The same axes, every element mapped.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self { data: self.data.iter().map(|&v| f(v)).collect(), ..self.clone() }
    }

    /// The axes with their sizes.
    pub fn named(&self) -> Vec<(&str, usize)> {
        self.axes.iter().map(String::as_str).zip(self.shape.iter().copied()).collect()
    }

    pub fn size(&self, axis: &str) -> usize {
        self.shape[self.position(axis)]
    }

    pub fn position(&self, axis: &str) -> usize {
        self.axes.iter().position(|a| a == axis).unwrap_or_else(|| panic!("no axis {axis} in {:?}", self.axes))
    }

    pub fn at(&self, index: &[usize]) -> f64 {
        assert_eq!(index.len(), self.shape.len());
        let mut o = 0;
        for (&i, &n) in index.iter().zip(&self.shape) {
            assert!(i < n);
            o = o * n + i;
        }
        self.data[o]
    }

    /// The element at a position by name: `names` says which axis each entry of `index` is; own axes only are read.
    pub fn at_named(&self, names: &[&str], index: &[usize]) -> f64 {
        let own: Vec<usize> =
            self.axes.iter().map(|a| index[names.iter().position(|n| n == a).expect("a named axis")]).collect();
        self.at(&own)
    }

    /// Reduces the lane along `axis` at every other position to one number.
    pub fn reduce(&self, axis: &str, f: impl Fn(&[f64]) -> f64) -> Self {
        let p = self.position(axis);
        let mut kept = self.named();
        let (_, n) = kept.remove(p);
        Self::from_fn(&kept, |ix| {
            let lane: Vec<f64> = (0..n)
                .map(|k| {
                    let mut full = ix.to_vec();
                    full.insert(p, k);
                    self.at(&full)
                })
                .collect();
            f(&lane)
        })
    }

    /// Maps the lane along `axis` at every other position to a lane of the same or another length.
    pub fn lanes(&self, axis: &str, out_len: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let p = self.position(axis);
        let n = self.shape[p];
        let mut named = self.named();
        named[p].1 = out_len;
        Self::from_fn(&named, |ix| {
            let lane: Vec<f64> = (0..n)
                .map(|k| {
                    let mut full = ix.to_vec();
                    full[p] = k;
                    self.at(&full)
                })
                .collect();
            f(&lane)[ix[p]]
        })
    }
}

/// Calls `f` with every index of `shape` in row-major order.
pub fn each(shape: &[usize], mut f: impl FnMut(&[usize])) {
    if shape.contains(&0) {
        return;
    }
    let mut ix = vec![0; shape.len()];
    loop {
        f(&ix);
        let mut a = shape.len();
        loop {
            if a == 0 {
                return;
            }
            a -= 1;
            ix[a] += 1;
            if ix[a] < shape[a] {
                break;
            }
            ix[a] = 0;
        }
    }
}
