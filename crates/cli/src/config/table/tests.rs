//! Tests that the table matches the crates' defaults and every value reaches its field.

use std::time::Duration;

use super::*;
use crate::config::value::{Kind, Value};

#[test]
fn built_in_values_match_the_crates() {
    let Sections { gateway, files, profile, client, database, .. } = Sections::default();
    assert_eq!(gateway.listen, "127.0.0.1:4670");
    assert_eq!(database, None);
    assert_eq!(gateway.rate_limit, None);
    assert_eq!(gateway.limits.outgoing_bytes, 16 * 1024 * 1024);
    assert_eq!(gateway.limits.patience, Duration::from_secs(10));
    assert_eq!(client, ClientSettings { url: None, token_file: None, workspace: None });
    let switches = (files.enabled(), files.stop_at_fs_root(), files.follow_external_links());
    assert_eq!(switches, (true, true, false));
    assert_eq!(profile, "foreword");
    assert_eq!((&files.agents.root.markers, files.agents.initial.max_bytes), (&None, None));
    assert_eq!(files.max_files_per_resolve(), 8);
    assert_eq!(files.delivery(), instructions::Delivery::Auto);
}

/// Every value that a kind accepts fits the field and is shown as it was set.
#[test]
fn every_value_of_a_kind_reaches_its_field() {
    for key in KEYS {
        let values = match key.kind() {
            Kind::Text | Kind::Url => vec![Value::from("x")],
            Kind::Path => vec![Value::Path("/x".into())],
            Kind::Switch => vec![Value::Switch(true), Value::Switch(false)],
            Kind::NonNegative => vec![Value::Integer(0), Value::Integer(u64::from(u32::MAX))],
            Kind::Positive => vec![Value::Integer(1), Value::Integer(u64::from(u32::MAX))],
            Kind::List => vec![Value::List(vec![]), Value::List(vec!["x".into()])],
            Kind::Paths => vec![Value::Paths(vec![]), Value::Paths(vec!["/x".into()])],
            Kind::Words(words) => words.iter().map(|word| Value::from(*word)).collect(),
            Kind::Model => vec![Value::from("openai/x")],
            Kind::Period => ["1 hour", "10 days", "2 years", "forever"].map(Value::from).to_vec(),
            Kind::Variable => vec![Value::from("X")],
            Kind::Headers => vec![Value::Headers([("a".to_owned(), "b".to_owned())].into())],
        };
        assert!(!values.is_empty(), "{}", key.path);
        let path = key.path.replace("NAME", "x");
        for value in values {
            let mut sections = Sections::default();
            key.store(&mut sections, &path, Some(value.clone()));
            assert_eq!(key.load(&sections, &path), Some(value), "{path}");
        }
        if let Kind::NonNegative | Kind::Positive = key.kind() {
            // The largest number must neither wrap around nor be rejected: it is clamped to the range of the field.
            let mut sections = Sections::default();
            key.store(&mut sections, &path, Some(Value::Integer(u64::MAX)));
            let kept = match key.load(&sections, &path) {
                Some(Value::Integer(number)) => number,
                other => panic!("{path}: {other:?}"),
            };
            assert!(kept >= u64::from(u32::MAX), "{path}: a number beyond all bounds becomes the maximum");
        }
    }
}

#[test]
fn prompt_budgets_match_the_compiler() {
    let mut budgets = prompt::PromptBudgets::default();
    for budget in prompt::BUDGET_SETTINGS {
        let path = format!("prompt.{}", budget.name);
        let built_in = Key::find(&path).and_then(Key::built_in);
        assert_eq!(built_in, Some(Value::Integer(*(budget.field)(&mut budgets) as u64)), "{path}");
    }
    assert_eq!(budgets.agents_md, protocol::limits::PROMPT_DOCUMENT_CHARACTERS);
}
