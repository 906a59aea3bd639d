//! An outgoing message, serialized once and shared by all its recipients.

use tokio_tungstenite::tungstenite::{Bytes, Utf8Bytes};

/// A serialized message. Cloning copies a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame(Utf8Bytes);

impl Frame {
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn into_bytes(self) -> Bytes {
        self.0.into()
    }

    pub(crate) fn into_utf8_bytes(self) -> Utf8Bytes {
        self.0
    }
}

impl From<String> for Frame {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Utf8Bytes> for Frame {
    fn from(text: Utf8Bytes) -> Self {
        Self(text)
    }
}
