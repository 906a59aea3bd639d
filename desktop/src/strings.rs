//! Every word that people read in the window, in one place.

pub const CONNECTING: &str = "Connecting…";
pub const CONNECTED: &str = "Connected";
pub const NOT_CONNECTED: &str = "Not connected";
