//! Methods, notifications, errors and the values they share, with their generated reference.

pub mod error;
pub mod id;
pub mod limits;
pub mod local;
pub mod method;
pub mod notification;
pub mod number;
pub mod reference;
pub mod schema;
pub mod time;
