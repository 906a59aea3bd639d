//! Light and dark, and the size of text.

use std::process::Command;

use gpui_kit::component::{Theme, ThemeMode};
use gpui_kit::{App, Window, px};

use crate::state::settings::{Appearance, Settings};

/// Default sizes of the toolkit, in pixels; all other sizes are multiples of them.
const TEXT: f32 = 16.;
const CODE: f32 = 13.;
/// Factor of a zoom step, and the range of steps.
const STEP: f32 = 0.1;
pub const ZOOM: std::ops::RangeInclusive<i8> = -5..=15;

/// Text scale requested by the system.
#[derive(Debug, Clone, Copy)]
pub struct SystemScale(f32);

impl gpui_kit::Global for SystemScale {}

impl SystemScale {
    /// Reads the scale from the settings of GNOME and its relatives.
    pub fn find() -> Self {
        // Other desktops include it in the scale factor of the window, so a missing command means 1. It is
        // read once, at the start, because it takes a process.
        let asked = Command::new("gsettings")
            .args(["get", "org.gnome.desktop.interface", "text-scaling-factor"])
            .output()
            .ok()
            .and_then(|output| String::from_utf8(output.stdout).ok());
        Self(asked.as_deref().map_or(1., Self::parse))
    }

    fn parse(answer: &str) -> f32 {
        // A wrong value must not make the window unreadable: there would be no way to correct it in the
        // window.
        answer.trim().parse::<f32>().ok().filter(|scale| (0.5..=3.).contains(scale)).unwrap_or(1.)
    }
}

/// Applies the user's and the system's settings to a window.
pub fn apply(settings: &Settings, window: &mut Window, cx: &mut App) {
    match settings.appearance {
        Appearance::System => Theme::sync_system_appearance(Some(window), cx),
        Appearance::Light => Theme::change(ThemeMode::Light, Some(window), cx),
        Appearance::Dark => Theme::change(ThemeMode::Dark, Some(window), cx),
    }
    let system = cx.try_global::<SystemScale>().map_or(1., |scale| scale.0);
    let scale = system * (1. + STEP * f32::from(settings.zoom));
    Theme::update(cx, |theme| {
        // Rounded to whole pixels, in which the toolkit gives its own sizes.
        theme.font_size = px((TEXT * scale).round());
        theme.mono_font_size = px((CODE * scale).round());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_scales_are_ignored() {
        let cases = [("1.5\n", 1.5), ("", 1.), ("No such schema", 1.), ("40", 1.), ("-2", 1.), ("0.8", 0.8)];
        for (answer, scale) in cases {
            assert!((SystemScale::parse(answer) - scale).abs() < f32::EPSILON, "{answer:?}");
        }
    }
}
