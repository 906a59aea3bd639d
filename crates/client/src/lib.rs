//! A client of a Foreword gateway: typed calls, events that survive a lost connection, and, without any user
//! interface, what an editor of documents needs.
//!
//! [`Client`] connects to a [`Target`] and calls the methods of [`protocol::method`]:
//!
//! ```no_run
//! # async fn example() -> Result<(), client::ClientError> {
//! use client::{Client, Events, Target};
//! use protocol::method::{WorkspaceList, WorkspaceListParams};
//!
//! // The gateway on this machine, as its owner.
//! let target = Target::Local { data: "/home/me/.local/share/foreword".into() };
//! let client = Client::connect(&target).await?;
//! for workspace in client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?.workspaces {
//!     println!("{}", workspace.name);
//!     let mut events = Events::follow(target.clone(), workspace.id, None).await?;
//!     println!("the next change: {}", events.next().await?.method);
//! }
//! # Ok(()) }
//! ```
//!
//! [`TreeModel`] arranges the answer of `thread/tree`, [`DeletedFolders`] finds what is no longer in it.
//!
//! What a window needs is here as state machines without a clock, a connection or a screen: they are told what happened and
//! what time it is, and say what to ask for. [`Connection`] knows when to connect and what to catch up on, [`LiveTree`] is a
//! workspace's tree while others change it, [`Editing`] one document that somebody edits, [`WatchedTurn`] a turn while it
//! runs, and [`GatewayList`] the gateways that somebody works with.
//!
//! ```
//! use std::time::Instant;
//!
//! use client::{AUTOSAVE_AFTER, Editing, EditingCall, EditingStatus};
//!
//! let start = Instant::now();
//! let mut editing = Editing::new(None);
//! editing.edit("# Rules\n", start);
//! assert_eq!(editing.poll(start), None, "not before a pause in typing");
//! let request = editing.poll(start + AUTOSAVE_AFTER).unwrap();
//! let EditingCall::Save(save) = request.call else { panic!() };
//! assert_eq!((save.content.as_str(), save.expected_version.0), ("# Rules\n", 0));
//!
//! // The connection is lost before the answer comes; the text stays, and the document is looked at when it is back.
//! editing.disconnected();
//! assert_eq!(editing.status(), EditingStatus::Offline);
//! editing.reconnected(start + AUTOSAVE_AFTER);
//! assert_eq!(editing.poll(start + AUTOSAVE_AFTER).unwrap().call, EditingCall::Fetch);
//! ```

#![warn(missing_docs)]

mod backoff;
mod client;
mod connection;
mod deleted;
mod editing;
mod error;
mod events;
mod failure;
mod gateways;
mod live_tree;
mod merge;
mod request;
mod target;
mod tree;
mod watched_turn;

pub use client::Client;
pub use connection::{Connection, ConnectionRequest, ConnectionState};
pub use deleted::DeletedFolders;
pub use editing::{
    AUTOSAVE_AFTER, CharacterCount, DraftChange, Editing, EditingCall, EditingRequest, EditingStatus,
    LocalDraft, Save,
};
pub use error::ClientError;
pub use events::{Event, Events};
pub use failure::Failure;
pub use gateways::{GatewayEntry, GatewayList, GatewayPlace, InvalidGateway};
pub use live_tree::{
    DocumentRow, DocumentState, FolderRow, LiveTree, RowKey, Scope, TreeRequest, TreeRow, TreeRowKind,
};
pub use merge::{Marks, Merged, merge};
pub use request::RequestNumber;
pub use rpc::{Caller, Notification};
pub use target::{Located, Target};
pub use tree::{TreeModel, TreeNode};
pub use watched_turn::{CallState, TurnCall, TurnItem, TurnRequest, WatchedTurn};
