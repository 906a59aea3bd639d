//! Light and dark, and the size of text.

use std::process::Command;

use gpui_kit::component::{Theme, ThemeMode};
use gpui_kit::{App, Window, px};

use crate::settings::{Appearance, Settings};

/// The toolkit's own sizes, which everything else is measured in.
const TEXT: f32 = 16.;
const CODE: f32 = 13.;
/// A step of the zoom, and how far it goes.
const STEP: f32 = 0.1;
pub const ZOOM: std::ops::RangeInclusive<i8> = -5..=15;

/// How much larger than usual the system wants text.
#[derive(Debug, Clone, Copy)]
pub struct SystemScale(f32);

impl gpui_kit::Global for SystemScale {}

impl SystemScale {
    /// Desktops of the GNOME family keep it in their settings; elsewhere the window's own scale already has it.
    pub fn find() -> Self {
        let asked = Command::new("gsettings")
            .args(["get", "org.gnome.desktop.interface", "text-scaling-factor"])
            .output()
            .ok()
            .and_then(|output| String::from_utf8(output.stdout).ok());
        Self(asked.as_deref().map_or(1., Self::parse))
    }

    fn parse(answer: &str) -> f32 {
        answer.trim().parse::<f32>().ok().filter(|scale| (0.5..=3.).contains(scale)).unwrap_or(1.)
    }
}

/// Applies what the user and the system want.
pub fn apply(settings: &Settings, window: &mut Window, cx: &mut App) {
    match settings.appearance {
        Appearance::System => Theme::sync_system_appearance(Some(window), cx),
        Appearance::Light => Theme::change(ThemeMode::Light, Some(window), cx),
        Appearance::Dark => Theme::change(ThemeMode::Dark, Some(window), cx),
    }
    let system = cx.try_global::<SystemScale>().map_or(1., |scale| scale.0);
    let scale = system * (1. + STEP * f32::from(settings.zoom));
    Theme::update(cx, |theme| {
        theme.font_size = px((TEXT * scale).round());
        theme.mono_font_size = px((CODE * scale).round());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_answer_changes_nothing() {
        let cases = [("1.5\n", 1.5), ("", 1.), ("No such schema", 1.), ("40", 1.), ("-2", 1.), ("0.8", 0.8)];
        for (answer, scale) in cases {
            assert!((SystemScale::parse(answer) - scale).abs() < f32::EPSILON, "{answer:?}");
        }
    }
}
