//! The spectrum of a signal.

use realfft::RealFftPlanner;

/// Power over frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Frequencies in Hz, from 0 to half the sample rate.
    pub frequencies: Vec<f64>,
    /// Power at each in dB, where a sine of amplitude 1 peaks at 0.
    pub decibels: Vec<f64>,
}

/// The floor of [`Spectrum::decibels`]: silence has this.
const FLOOR: f64 = -200.0;

/// The averaged spectrum of `samples` after Welch: segments of `size` samples that overlap by half, each under a Hann
/// window, their powers averaged. A signal shorter than one segment is padded with zeros.
///
/// ```
/// use forge_nam::audio::welch;
/// // A sine of 1 kHz and amplitude 0.5 is -6 dB high.
/// let sine: Vec<f32> = (0..48_000).map(|i| 0.5 * (i as f32 * 1000.0 * std::f32::consts::TAU / 48_000.0).sin()).collect();
/// let spectrum = welch(&sine, 48_000.0, 4800);
/// let peak = (0..spectrum.decibels.len()).max_by(|&a, &b| spectrum.decibels[a].total_cmp(&spectrum.decibels[b])).unwrap();
/// assert_eq!(spectrum.frequencies[peak], 1000.0);
/// assert!((spectrum.decibels[peak] + 6.02).abs() < 0.01);
/// ```
///
/// # Panics
/// When `size` is below 2.
pub fn welch(samples: &[f32], sample_rate: f64, size: usize) -> Spectrum {
    assert!(size >= 2, "welch: segments of {size} samples, but at least 2 are needed");
    let fft = RealFftPlanner::<f64>::new().plan_fft_forward(size);
    let (mut input, mut output, mut scratch) = (fft.make_input_vec(), fft.make_output_vec(), fft.make_scratch_vec());
    let step = std::f64::consts::TAU / index(size);
    let window: Vec<f64> = (0..size).map(|i| 0.5 - 0.5 * (step * index(i)).cos()).collect();
    let mut power = vec![0.0; output.len()];
    let mut segments = 0;
    let mut start = 0;
    while start == 0 || start + size <= samples.len() {
        for (i, (x, w)) in input.iter_mut().zip(&window).enumerate() {
            *x = samples.get(start + i).map_or(0.0, |&v| f64::from(v) * w);
        }
        if fft.process_with_scratch(&mut input, &mut output, &mut scratch).is_err() {
            unreachable!("the buffers are of the sizes that the plan asked for");
        }
        for (p, c) in power.iter_mut().zip(&output) {
            *p += c.norm_sqr();
        }
        segments += 1;
        start += size / 2;
    }
    let gain = window.iter().sum::<f64>();
    let scale = 4.0 / (gain * gain * f64::from(segments));
    Spectrum {
        frequencies: (0..power.len()).map(|i| index(i) * sample_rate / index(size)).collect(),
        decibels: power.iter().map(|p| (10.0 * (p * scale).log10()).max(FLOOR)).collect(),
    }
}

#[allow(clippy::cast_precision_loss, reason = "a count of samples in memory")]
fn index(i: usize) -> f64 {
    i as f64
}
