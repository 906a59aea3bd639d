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
//! [`TreeModel`] arranges the answer of `thread/tree`, [`DeletedFolders`] finds what is no longer in it. [`Editing`] is the state of one document that somebody edits: it
//! knows what to save, over which version, and what a conflict means.
//!
//! ```
//! use client::{Editing, EditingState};
//! use protocol::SaveReason;
//!
//! let mut editing = Editing::new(None);
//! editing.edit("# Rules\n");
//! let save = editing.save(SaveReason::Autosave).expect("there is something to save");
//! assert_eq!((save.content.as_str(), save.expected_version.0), ("# Rules\n", 0));
//!
//! // The gateway answers that somebody else saved first, and has archived the document since.
//! editing.conflicted(None);
//! assert_eq!(editing.state(), EditingState::Conflict { theirs: None });
//! editing.keep_mine();
//! assert_eq!(editing.state(), EditingState::Dirty);
//! ```

#![warn(missing_docs)]

mod connection;
mod deleted;
mod editing;
mod error;
mod events;
mod merge;
mod target;
mod tree;

pub use connection::Client;
pub use deleted::DeletedFolders;
pub use editing::{Editing, EditingState, Save};
pub use error::ClientError;
pub use events::{Event, Events};
pub use merge::{Merged, has_marks, merge};
pub use rpc::{Caller, Notification};
pub use target::{Located, Target};
pub use tree::{TreeModel, TreeNode};
