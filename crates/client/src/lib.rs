//! A typed client of a Foreword gateway, a model of its thread tree, and the state of editing a document.
//!
//! ```no_run
//! # async fn example() -> Result<(), client::ClientError> {
//! use client::{Client, Target};
//! use protocol::method::{WorkspaceList, WorkspaceListParams};
//!
//! let target = Target::Local { data: "/home/me/.local/share/foreword".into() };
//! let client = Client::connect(&target).await?;
//! let answer = client.call::<WorkspaceList>(&WorkspaceListParams {}).await?;
//! println!("{} workspaces", answer.workspaces.len());
//! # Ok(()) }
//! ```

mod connection;
mod editing;
mod error;
mod events;
mod target;
mod tree;

pub use connection::Client;
pub use editing::{Editing, EditingState, Save};
pub use error::ClientError;
pub use events::{Event, Events};
pub use target::{Located, Target};
pub use tree::{TreeModel, TreeNode};
