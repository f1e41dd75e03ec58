//! The picture of a rendering: both waves over time, both spectra over frequency.

use forge_nam::audio::{AudioError, Spectrum, welch, write_atomic};
use plotters::{
    coord::{Shift, types::RangedCoordf64},
    prelude::*,
    style::{FontStyle, register_font},
};
use std::{error::Error, path::Path};

const WIDTH: u32 = 1500;
const HEIGHT: u32 = 1000;
const PAPER: RGBColor = RGBColor(252, 251, 248);
const INK: RGBColor = RGBColor(52, 56, 64);
const FAINT: RGBColor = RGBColor(222, 222, 218);
const BEFORE: RGBColor = RGBColor(58, 110, 165);
const AFTER: RGBColor = RGBColor(214, 90, 49);

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;

/// What is drawn.
pub struct Picture<'a> {
    /// The heading.
    pub title: &'a str,
    /// Samples a second.
    pub sample_rate: u32,
    /// What went in.
    pub before: &'a [f32],
    /// What came out.
    pub after: &'a [f32],
}

/// Draws the picture and writes it as PNG.
pub fn draw(path: &Path, picture: &Picture<'_>) -> Result<(), Box<dyn Error>> {
    // No font of the system is needed: one is shipped.
    register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| "the shipped font cannot be read")?;
    let mut pixels = vec![0; (WIDTH * HEIGHT * 3) as usize];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, (WIDTH, HEIGHT)).into_drawing_area();
        root.fill(&PAPER)?;
        root.draw(&Text::new(picture.title.to_owned(), (36, 24), ("sans-serif", 30).into_font().color(&INK)))?;
        let (_, body) = root.split_vertically(70);
        let (waves, spectrum) = body.split_vertically(500);
        let (upper, lower) = waves.split_vertically(250);
        // One scale for both: louder looks louder.
        let all = picture.before.iter().chain(picture.after);
        let top = all.fold(0.0f64, |m, v| m.max(f64::from(v.abs()))).max(1e-3) * 1.12;
        wave(&upper, ("before", BEFORE), picture.before, picture.sample_rate, top)?;
        wave(&lower, ("after", AFTER), picture.after, picture.sample_rate, top)?;
        spectra(&spectrum, picture)?;
        root.present()?;
    }
    write_png(path, &pixels)?;
    Ok(())
}

/// One wave: for each column of pixels the range that the samples cover there.
fn wave(
    area: &Area<'_>,
    (name, color): (&str, RGBColor),
    samples: &[f32],
    sample_rate: u32,
    top: f64,
) -> Result<(), Box<dyn Error>> {
    let seconds = samples.len() as f64 / f64::from(sample_rate);
    let mut chart = ChartBuilder::on(area)
        .margin_left(24)
        .margin_right(36)
        .margin_top(8)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..seconds, -top..top)?;
    chart
        .configure_mesh()
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", 18).into_font().color(&INK))
        .y_labels(5)
        // Zero without a sign.
        .y_label_formatter(&|v| format!("{:.1}", if v.abs() < 0.05 { 0.0 } else { *v }))
        .x_label_formatter(&|v| format!("{v:.1} s"))
        .draw()?;
    let (columns, _) = chart.plotting_area().dim_in_pixel();
    let per_column = (samples.len() as f64 / f64::from(columns.max(1))).max(1.0);
    let mut band = Vec::new();
    let mut column = 0.0;
    while (column as usize) < samples.len() {
        let start = column as usize;
        // One sample more than the column has, so that neighbours touch.
        let end = ((column + per_column) as usize + 1).min(samples.len());
        let (low, high) = samples[start..end].iter().fold((f32::MAX, f32::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        band.push((column / f64::from(sample_rate), f64::from(low), f64::from(high)));
        column += per_column;
    }
    chart.draw_series(band.iter().map(|&(x, low, high)| PathElement::new(vec![(x, low), (x, high)], color)))?;
    label(area, name, color, 0)
}

/// Both spectra, over the octaves that one hears.
fn spectra(area: &Area<'_>, picture: &Picture<'_>) -> Result<(), Box<dyn Error>> {
    let rate = f64::from(picture.sample_rate);
    let (low, high) = (20.0f64, (rate / 2.0).clamp(40.0, 20_000.0));
    let curve = |samples: &[f32]| smooth(&welch(samples, rate, 8192), low, high);
    let (before, after) = (curve(picture.before), curve(picture.after));
    let top = before.iter().chain(&after).fold(-60.0f64, |m, p| m.max(p.1));
    let top = (top / 10.0).ceil() * 10.0;
    let floor = top - 110.0;
    let mut chart: ChartContext<'_, _, Cartesian2d<LogCoord<f64>, RangedCoordf64>> = ChartBuilder::on(area)
        .margin_left(24)
        .margin_right(36)
        .margin_top(14)
        .margin_bottom(10)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((low..high).log_scale(), floor..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", 18).into_font().color(&INK))
        .x_label_formatter(&|_| String::new())
        .y_labels(6)
        .y_label_formatter(&|v| format!("{v:.0} dB"))
        .draw()?;
    let plot = chart.plotting_area();
    for (hz, text) in TICKS.into_iter().filter(|t| (low..=high).contains(&t.0)) {
        plot.draw(&PathElement::new(vec![(hz, floor), (hz, top)], FAINT))?;
        let (x, y) = plot.map_coordinate(&(hz, floor));
        let (x0, y0) = area.get_base_pixel();
        let style = ("sans-serif", 18).into_font().color(&INK);
        let width = i32::try_from(area.estimate_text_size(text, &style)?.0)?;
        area.draw(&Text::new(text, (x - x0 - width / 2, y - y0 + 8), style))?;
    }
    for (curve, color) in [(before, BEFORE), (after, AFTER)] {
        let points = curve.into_iter().map(|(hz, db)| (hz, db.max(floor)));
        chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?;
    }
    label(area, "before", BEFORE, 0)?;
    label(area, "after", AFTER, 1)
}

const TICKS: [(f64, &str); 10] = [
    (20.0, "20"),
    (50.0, "50"),
    (100.0, "100"),
    (200.0, "200"),
    (500.0, "500"),
    (1_000.0, "1 kHz"),
    (2_000.0, "2"),
    (5_000.0, "5"),
    (10_000.0, "10"),
    (20_000.0, "20 kHz"),
];

/// The mean power of each twelfth of an octave: what is heard, and no hair at high frequencies.
fn smooth(spectrum: &Spectrum, low: f64, high: f64) -> Vec<(f64, f64)> {
    const PER_OCTAVE: f64 = 24.0;
    let steps = ((high / low).log2() * PER_OCTAVE) as usize;
    let width = 0.5f64.powf(0.5 / PER_OCTAVE);
    let resolution = spectrum.frequencies[1];
    let bins = spectrum.frequencies.iter().zip(&spectrum.decibels);
    (0..=steps)
        .map(|i| {
            let hz = low * 2f64.powf(i as f64 / PER_OCTAVE);
            let (from, to) = (hz * width, hz / width);
            let inside = bins.clone().filter(|(f, _)| (from..to).contains(*f)).map(|(_, db)| 10f64.powf(db / 10.0));
            let (sum, count) = inside.fold((0.0, 0.0), |(s, n), p| (s + p, n + 1.0));
            if count > 0.0 {
                return (hz, 10.0 * f64::log10(sum / count));
            }
            // Below the resolution: on the line between the two bins around it.
            let at = hz / resolution;
            let (i, part) = ((at as usize).min(spectrum.decibels.len() - 2), at.fract());
            (hz, spectrum.decibels[i] * (1.0 - part) + spectrum.decibels[i + 1] * part)
        })
        .collect()
}

/// A name in the upper right corner, with a bar of its colour.
fn label(area: &Area<'_>, name: &str, color: RGBColor, row: i32) -> Result<(), Box<dyn Error>> {
    let right = i32::try_from(area.dim_in_pixel().0)? - 140;
    let y = 26 + 26 * row;
    area.draw(&Rectangle::new([(right, y + 2), (right + 22, y + 8)], color.filled()))?;
    area.draw(&Text::new(name.to_owned(), (right + 32, y - 5), ("sans-serif", 20).into_font().color(&INK)))?;
    Ok(())
}

fn write_png(path: &Path, pixels: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    write_atomic(path, &bytes).map_err(|e: AudioError| e.into())
}
