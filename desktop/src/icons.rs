//! Icons of the toolkit under one name.

pub use gpui_kit::assets::IconName;
