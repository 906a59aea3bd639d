//! A client of a Foreword gateway: typed calls, automatic reconnection, and the state machines behind a document editor,
//! without any user interface.
//!
//! [`Client`] connects to a [`Target`] and calls the methods of [`protocol::method`]:
//!
//! ```no_run
//! # async fn example() -> Result<(), client::ClientError> {
//! use client::{Client, Target, WorkspaceFollower};
//! use protocol::method::{WorkspaceList, WorkspaceListParams};
//!
//! // The gateway on this machine, as its owner.
//! let target = Target::Local { data: "/home/me/.local/share/foreword".into() };
//! let client = Client::connect(&target).await?;
//! for workspace in client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?.workspaces {
//!     println!("{}", workspace.name);
//!     let mut follower = WorkspaceFollower::follow(target.clone(), workspace.id, None).await?;
//!     println!("the next change: {}", follower.next_change().await?.method);
//! }
//! # Ok(()) }
//! ```
//!
//! The state machines have no clock, connection or screen: their owner reports events and the time, and they return the
//! next request. [`Connection`] decides when to connect and where to resume (a program that follows one workspace lets a
//! [`WorkspaceFollower`] drive it), [`LiveTree`] is a workspace's tree while
//! others change it, [`Editing`] is one edited document, [`WatchedTurn`] a running turn, and [`GatewayList`] the user's
//! gateways.
//!
//! ```
//! use std::time::Instant;
//!
//! use client::{AUTOSAVE_AFTER, Editing, EditingCall, EditingStatus};
//!
//! let start = Instant::now();
//! let mut editing = Editing::new(None);
//! editing.edit("# Rules\n", start);
//! assert_eq!(editing.poll(start), None, "waits for a pause in typing");
//! let request = editing.poll(start + AUTOSAVE_AFTER).unwrap();
//! let EditingCall::Save(save) = request.call else { panic!() };
//! assert_eq!((save.content.as_str(), save.expected_version.0), ("# Rules\n", 0));
//!
//! // The connection is lost before the answer arrives. The text stays, and the document is fetched on reconnection.
//! editing.disconnected();
//! assert_eq!(editing.status(), EditingStatus::Offline);
//! editing.reconnected(start + AUTOSAVE_AFTER);
//! assert_eq!(editing.poll(start + AUTOSAVE_AFTER).unwrap().call, EditingCall::Fetch);
//! ```

#![warn(missing_docs)]

mod backoff;
mod client;
mod connection;
mod editing;
mod error;
mod failure;
mod follower;
mod gateways;
mod live_tree;
mod merge;
mod request;
mod target;
mod watched_turn;

pub use client::Client;
pub use connection::{Connection, ConnectionRequest, ConnectionState};
pub use editing::{
    AUTOSAVE_AFTER, CharacterCount, DraftChange, Editing, EditingCall, EditingRequest, EditingStatus,
    LocalDraft, Save,
};
pub use error::ClientError;
pub use failure::Failure;
pub use follower::{Event, Update, WorkspaceFollower};
pub use gateways::{GatewayEntry, GatewayList, GatewayPlace, InvalidGateway};
pub use live_tree::{
    DocumentRow, DocumentState, FolderRow, LiveTree, RowKey, Scope, TreeRequest, TreeRow, TreeRowKind,
};
pub use merge::{Marks, Merged, merge};
pub use request::RequestNumber;
pub use rpc::{Caller, Notification};
pub use target::{Located, Target};
pub use watched_turn::{CallState, TurnCall, TurnItem, TurnRequest, WatchedTurn};
