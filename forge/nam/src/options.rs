//! How a profile is played.

/// How a profile is played.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Takes a quotient of polynomials for tanh (error about 1e-3), as some hosts do. It acts on the activation `Tanh` and
    /// within LSTM cells.
    pub fast_tanh: bool,
    /// The quality in 0..1 for profiles that have several sizes; `None` is the best.
    pub quality: Option<f64>,
}

impl Options {
    /// These options with fast tanh on or off.
    #[must_use]
    pub fn fast_tanh(self, on: bool) -> Self {
        Self { fast_tanh: on, ..self }
    }

    /// These options with a quality.
    #[must_use]
    pub fn quality(self, quality: Option<f64>) -> Self {
        Self { quality, ..self }
    }
}
