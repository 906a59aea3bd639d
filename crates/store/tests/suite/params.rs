//! Short ways to make document parameters.

use protocol::Version;
use protocol::method::{DocumentRestoreParams, DocumentSaveParams};
use store::Scope;

/// Restores a version over any current one.
pub(crate) fn older(scope: &Scope, version: Version) -> DocumentRestoreParams {
    let Scope { workspace_id, folder_id } = scope.clone();
    DocumentRestoreParams { workspace_id, folder_id, version, expected_version: None, message: None }
}

/// Saves a text over any current version.
pub(crate) fn text(scope: &Scope, content: &str) -> DocumentSaveParams {
    DocumentSaveParams {
        workspace_id: scope.workspace_id.clone(),
        folder_id: scope.folder_id.clone(),
        content: content.to_owned(),
        expected_version: None,
        save_reason: None,
        message: None,
    }
}
