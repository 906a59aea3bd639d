//! JSON-RPC 2.0: framing and dispatch over WebSocket, HTTP, stdio and an in-memory pair.
//!
//! A connection is an [`Endpoint`]: a stream of incoming messages and a bounded queue of outgoing ones. Every transport
//! creates one. [`serve`] answers the requests that arrive on it with a [`Service`], which defines the methods, and
//! [`Caller`] sends requests over it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use protocol::error::ErrorObject;
//! use rpc::{Caller, Reply, Service, memory, serve};
//! use serde_json::value::RawValue;
//!
//! struct Echo;
//! impl Service for Echo {
//!     type Peer = ();
//!     async fn call(&self, _: &Arc<()>, method: &str, _: Option<&RawValue>) -> Result<Reply, ErrorObject> {
//!         Ok(Reply::new(method.to_owned()))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let (near, far) = memory::pair();
//! tokio::spawn(serve(far, Arc::new(Echo), Arc::new(()), Default::default()));
//! let (caller, _notifications) = Caller::new(near);
//! let answer: String = caller.call("hello", &serde_json::json!({})).await.unwrap();
//! assert_eq!(answer, "hello");
//! # });
//! ```

mod caller;
mod dispatch;
mod endpoint;
mod error;
mod frame;
pub mod memory;
mod message;
mod reserved;
mod serve;
pub mod stdio;
pub mod websocket;

pub use caller::{CallError, Caller, Notification};
pub use dispatch::{After, Answer, BatchLimits, Reply, Service, dispatch, error_frame};
pub use endpoint::{CloseReason, ConnectionLimits, Endpoint, Inbound, Outgoing};
pub use error::{no_method, panicked, too_large};
pub use frame::Frame;
pub use message::notification;
pub use reserved::{Reserved, SMALL, UNIT};
pub use serve::serve;
