//! The icons that are used; one name for them everywhere.

pub use gpui_kit::assets::IconName;
