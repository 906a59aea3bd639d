//! Pagination of turns that are too long for one answer.
//!
//! A turn with many calls can be tens of megabytes. Without pages, one small request would make the gateway hold it in
//! memory several times over.

use std::collections::{HashMap, HashSet};
use std::io;

use protocol::method::TurnGetResult;
use protocol::tool::TurnApproval;
use protocol::turn::TurnStep;
use serde::Serialize;

/// Keeps the steps after the first `after`, at least one and at most `bytes` including the decisions about their calls.
/// The first page also contains decisions about calls without a step.
pub(super) fn cut(turn: &mut TurnGetResult, after: u32, bytes: usize) {
    let skipped = turn.steps.len().min(usize::try_from(after).unwrap_or(usize::MAX));
    let before = calls(&turn.steps[..skipped]);
    turn.steps.drain(..skipped);
    let length = length_of_page(&turn.steps, &turn.decided, bytes);
    let here = calls(&turn.steps[..length]);
    let later = calls(&turn.steps[length..]);
    turn.decided.retain(|decided| {
        let call_id = decided.request.call_id.as_str();
        here.contains(call_id) || skipped == 0 && !later.contains(call_id) && !before.contains(call_id)
    });
    if length < turn.steps.len() {
        turn.steps.truncate(length);
        turn.next = u32::try_from(skipped + length).ok();
    }
}

/// Returns the number of steps that fit on the page.
fn length_of_page(steps: &[TurnStep], decided: &[TurnApproval], bytes: usize) -> usize {
    let decided: HashMap<&str, &TurnApproval> =
        decided.iter().map(|decided| (decided.request.call_id.as_str(), decided)).collect();
    let mut length = 0;
    for (index, step) in steps.iter().enumerate() {
        length += written(step);
        let about = step.calls.iter().filter_map(|call| decided.get(call.id.as_str()));
        length += about.map(written).sum::<usize>();
        if length > bytes {
            return index.max(1);
        }
    }
    steps.len()
}

fn calls(steps: &[TurnStep]) -> HashSet<String> {
    steps.iter().flat_map(|step| &step.calls).map(|call| call.id.clone()).collect()
}

/// Returns the serialized size of a value.
fn written(value: impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting bytes cannot fail.
    let _ = serde_json::to_writer(&mut count, &value);
    count.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: &str = "2026-01-01T00:00:00.000Z";

    /// Returns a turn whose calls are about a thousand bytes each; the third one has a decision with a long diff.
    fn turn() -> TurnGetResult {
        let call = |id: &str| json!({ "call_id": id, "tool": "write_file", "arguments": "x".repeat(1_000) });
        let step = |id: &str| json!({ "role": "assistant", "calls": [call(id)], "created_at": AT });
        let decided = |id: &str, diff: usize| {
            json!({
                "call_id": id, "tool": "write_file", "arguments": {}, "paths": [], "rule": "write", "diff": "x".repeat(diff),
                "requested_at": AT, "expires_at": AT,
                "decision": { "allowed": true, "decided_at": AT },
            })
        };
        let steps = ["1", "2", "3", "4", "5"].map(step);
        serde_json::from_value(json!({
            "turn": {
                "id": "t", "workspace_id": "w", "thread_id": "h", "ordinal": 1, "status": "completed",
                "input": "go", "created_at": AT,
            },
            "steps": steps,
            "approvals": [],
            "decided": [decided("1", 0), decided("3", 5_000), decided("5", 0), decided("of no step", 0)],
        }))
        .unwrap()
    }

    fn told(turn: &TurnGetResult) -> (Vec<&str>, Vec<&str>, Option<u32>) {
        let steps = turn.steps.iter().map(|step| step.calls[0].id.as_str()).collect();
        (steps, turn.decided.iter().map(|decided| decided.request.call_id.as_str()).collect(), turn.next)
    }

    #[test]
    fn a_turn_that_fits_is_left_as_it_is() {
        let mut whole = turn();
        cut(&mut whole, 0, 1 << 20);
        assert_eq!(whole, turn());
    }

    #[test]
    fn pages_of_a_long_turn_add_up_to_it() {
        let page = |after| {
            let mut page = turn();
            cut(&mut page, after, 3_000);
            page
        };
        assert_eq!(told(&page(0)), (vec!["1", "2"], vec!["1", "of no step"], Some(2)));
        // Step 3 alone exceeds the page. It must be returned anyway, or a client could never get past it.
        assert_eq!(told(&page(2)), (vec!["3"], vec!["3"], Some(3)));
        assert_eq!(told(&page(3)), (vec!["4", "5"], vec!["5"], None));
        for beyond in [5, 6, u32::MAX] {
            assert_eq!(told(&page(beyond)), (vec![], vec![], None));
        }
        let mut whole = page(0);
        while let Some(after) = whole.next {
            whole.append(page(after));
        }
        assert_eq!(whole.steps, turn().steps);
        assert_eq!(whole.decided.len(), turn().decided.len());
    }
}
