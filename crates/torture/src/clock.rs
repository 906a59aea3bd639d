//! Gateways whose clocks differ.

use anyhow::ensure;
use client::Client;
use protocol::Timestamp;
use protocol::method::{DocumentSave, DocumentSaveParams};

use crate::Place;

/// How far gateways are from the machine's clock, in seconds, one after another.
const SHIFTS: [i64; 3] = [-60, 0, 60];
/// How far a shifted clock may be from where it should be: between saving and looking at it a busy machine is slow.
const TOLERANCE_MS: u64 = 20_000;

/// The shift of a gateway, by its number.
pub(crate) fn shift(node: usize) -> i64 {
    SHIFTS[node % SHIFTS.len()]
}

/// Saves through a gateway and looks at the time it gave the document, or nothing would tell that its clock is shifted.
pub(crate) async fn check(client: &Client, place: &Place, seconds: i64) -> anyhow::Result<()> {
    let params = DocumentSaveParams {
        workspace_id: place.workspace_id.clone(),
        folder_id: Some(place.folder_id.clone()),
        content: format!("saved {seconds} seconds from now"),
        expected_version: None,
        save_reason: None,
        message: None,
    };
    let saved = client.call::<DocumentSave>(&params).await?.doc.updated_at;
    let expected = Timestamp::now().milliseconds() + seconds * 1_000;
    ensure!(
        saved.milliseconds().abs_diff(expected) < TOLERANCE_MS,
        "a gateway's clock should be {seconds} seconds from ours and says {saved}"
    );
    Ok(())
}
