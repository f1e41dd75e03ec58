//! The picture: what the model says everywhere, the points, and the losses of the three runs.

use crate::{Class, Data, Point, Run};
use forge::prelude::*;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use std::error::Error;
use std::path::Path;

const WIDTH: u32 = 1500;
const HEIGHT: u32 = 760;
const PAPER: RGBColor = RGBColor(252, 251, 248);
const INK: RGBColor = RGBColor(52, 56, 64);
const FAINT: RGBColor = RGBColor(222, 222, 218);
const SPIRAL: [RGBColor; 2] = [RGBColor(58, 110, 165), RGBColor(214, 90, 49)];
const CURVE: [RGBColor; 3] = [RGBColor(120, 120, 128), RGBColor(58, 140, 90), RGBColor(150, 70, 150)];
/// The square that is shown, and its raster.
const EDGE: f32 = 1.2;
const CELLS: usize = 160;

/// The probability of the second spiral at every cell of the raster, row by row.
fn field(run: &Run) -> Vec<f32> {
    let at = |i: usize| (2.0 * (i as f32 + 0.5) / CELLS as f32 - 1.0) * EDGE;
    let cells = Tensor::<(Point, crate::Coordinate)>::from_fn((CELLS * CELLS, crate::Coordinate), |i| {
        let cell = i / 2;
        if i % 2 == 0 { at(cell % CELLS) } else { at(cell / CELLS) }
    });
    no_grad(|| run.model.forward(&cells).softmax(Class)).select(Class, 1).to_vec()
}

fn blend(p: f32) -> RGBColor {
    let mix = |a: u8, b: u8| {
        let v = f32::from(a) + (f32::from(b) - f32::from(a)) * p;
        // Towards the paper, so that the points stand out.
        (v * 0.45 + 250.0 * 0.55) as u8
    };
    let [a, b] = SPIRAL;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Draws the picture and writes it as PNG.
pub fn draw(path: &Path, data: &Data, runs: &[Run]) -> Result<(), Box<dyn Error>> {
    // No font of the system is needed: one is shipped.
    register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| "the shipped font cannot be read")?;
    let mut pixels = vec![0; (WIDTH * HEIGHT * 3) as usize];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, (WIDTH, HEIGHT)).into_drawing_area();
        root.fill(&PAPER)?;
        let (left, right) = root.split_horizontally(760);
        boundary(&left, data, runs.last().ok_or("there is no run to draw")?)?;
        losses(&right, runs)?;
        root.present()?;
    }
    if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir)?;
    }
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(std::fs::File::create(path)?), WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(())
}

type Area<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;

fn boundary(area: &Area<'_>, data: &Data, run: &Run) -> Result<(), Box<dyn Error>> {
    let e = f64::from(EDGE);
    let title = format!("What {} learned", run.name);
    let mut chart = ChartBuilder::on(area)
        .margin(24)
        .caption(title, ("sans-serif", 28).into_font().color(&INK))
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d(-e..e, -e..e)?;
    let cell = 2.0 * e / CELLS as f64;
    chart.draw_series(field(run).iter().enumerate().map(|(i, &p)| {
        let (x, y) = (-e + (i % CELLS) as f64 * cell, -e + (i / CELLS) as f64 * cell);
        Rectangle::new([(x, y), (x + cell, y + cell)], blend(p).filled())
    }))?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(INK)
        .label_style(("sans-serif", 18).into_font().color(&INK))
        .draw()?;
    let points = data.points.to_vec();
    chart.draw_series(
        points
            .chunks(2)
            .enumerate()
            .map(|(i, p)| Circle::new((f64::from(p[0]), f64::from(p[1])), 4, SPIRAL[i % 2].filled())),
    )?;
    Ok(())
}

fn losses(area: &Area<'_>, runs: &[Run]) -> Result<(), Box<dyn Error>> {
    let steps = runs.iter().map(|r| r.losses.len()).max().unwrap_or(1) as f64;
    let all = || runs.iter().flat_map(|r| &r.losses).map(|&l| f64::from(l)).filter(|l| l.is_finite() && *l > 0.0);
    let (low, high) = (all().fold(1.0f64, f64::min).max(1e-7), all().fold(1e-6f64, f64::max));
    let mut chart = ChartBuilder::on(area)
        .margin(24)
        .caption("Loss over steps", ("sans-serif", 28).into_font().color(&INK))
        .x_label_area_size(36)
        .y_label_area_size(76)
        .build_cartesian_2d(0.0..steps, (low..high * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", 18).into_font().color(&INK))
        .y_label_formatter(&|v| format!("{v:.0e}"))
        .x_label_formatter(&|v| format!("{v:.0}"))
        .draw()?;
    for (run, color) in runs.iter().zip(CURVE) {
        let line = run.losses.iter().enumerate().map(|(i, &l)| (i as f64, f64::from(l).max(low)));
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)))?
            .label(run.name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 24, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(PAPER)
        .border_style(FAINT)
        .label_font(("sans-serif", 20).into_font().color(&INK))
        .draw()?;
    Ok(())
}
