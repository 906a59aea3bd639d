//! Items of a turn: in order, all or none, and only from who runs it.

use serde_json::{Value, json};
use store::{NewTurnItem, TurnEnd};

use crate::fixture::{OWNER, assert_invalid, assert_invalid_state};

fn item(content: Value) -> NewTurnItem {
    NewTurnItem { kind: "message".to_owned(), content }
}

both_databases!(items_are_numbered_through_in_the_order_they_come, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let add = async |items| {
        given.store.add_turn_items(&given.workspace, &turn, OWNER, items, Vec::new()).await.unwrap()
    };
    let mut added =
        add(vec![item(json!({ "text": "a\u{0}✓", "b": 1, "a": [null, 1.5] })), item(json!("two"))]).await;
    added.extend(add(vec![NewTurnItem { kind: "tool_call".to_owned(), content: json!(3) }]).await);
    let numbers: Vec<_> = added.iter().map(|item| (item.ordinal, item.kind.as_str())).collect();
    assert_eq!(numbers, [(1, "message"), (2, "message"), (3, "tool_call")]);
    assert_eq!(added[0].content.to_string(), "{\"text\":\"a\\u0000✓\",\"b\":1,\"a\":[null,1.5]}");
    assert_eq!(given.store.turn_items(&given.workspace, &turn).await.unwrap(), added);
});

both_databases!(items_of_completed_turns_come_in_one_answer, async |given| {
    let thread = given.thread(None, "thread").await;
    let ends =
        [TurnEnd::Completed, TurnEnd::Failed, TurnEnd::Completed, TurnEnd::Cancelled, TurnEnd::Completed];
    for (number, end) in ends.into_iter().enumerate() {
        let turn = given.turn(&thread).await.id;
        let items = vec![item(json!([number, 1])), item(json!([number, 2]))];
        given.store.add_turn_items(&given.workspace, &turn, OWNER, items, Vec::new()).await.unwrap();
        given.finish(&turn, end).await.unwrap();
    }
    given.turn(&given.thread(None, "another thread").await).await;
    let between = async |after, before| {
        let items = given.store.completed_items(&given.workspace, &thread, after, before).await.unwrap();
        items.into_iter().map(|(turn, item)| (turn, item.content.to_string())).collect::<Vec<_>>()
    };
    let expected = |turns: &[u64]| {
        let items =
            turns.iter().flat_map(|turn| [1, 2].map(|item| (*turn, format!("[{},{item}]", turn - 1))));
        items.collect::<Vec<_>>()
    };
    assert_eq!(between(0, 9).await, expected(&[1, 3, 5]));
    assert_eq!(between(1, 5).await, expected(&[3]));
    assert_eq!(between(5, 9).await, expected(&[]));
});

both_databases!(no_items_are_no_items, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    assert_eq!(given.store.add_turn_items(&given.workspace, &turn, OWNER, vec![], vec![]).await.unwrap(), []);
    assert_eq!(given.store.turn_items(&given.workspace, &turn).await.unwrap(), []);
});

both_databases!(more_items_than_one_statement_takes_are_added_as_one, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let many = (0..1201).map(|number| item(json!(number))).collect();
    given.store.add_turn_items(&given.workspace, &turn, OWNER, many, Vec::new()).await.unwrap();
    let items = given.store.turn_items(&given.workspace, &turn).await.unwrap();
    let contents: Vec<_> = items.iter().map(|item| item.content.as_u64().unwrap()).collect();
    assert_eq!(contents, (0..1201).collect::<Vec<_>>());
    assert!(items.windows(2).all(|pair| pair[0].ordinal + 1 == pair[1].ordinal && pair[0].id < pair[1].id));
});

both_databases!(of_a_refused_batch_nothing_is_kept, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    for kind in ["", " ", "a\nb", "a\0b"] {
        let bad = NewTurnItem { kind: kind.to_owned(), content: json!(2) };
        let added = given
            .store
            .add_turn_items(&given.workspace, &turn, OWNER, vec![item(json!(1)), bad], Vec::new())
            .await;
        assert_invalid(added, "kind");
    }
    assert_eq!(given.store.turn_items(&given.workspace, &turn).await.unwrap(), []);
});

both_databases!(only_who_runs_a_turn_adds_to_it_and_only_while_it_runs, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let add = async |owner: &str| {
        given.store.add_turn_items(&given.workspace, &turn, owner, vec![item(json!(1))], Vec::new()).await
    };
    assert_invalid_state(add("gateway-2").await);
    add(OWNER).await.unwrap();
    given.finish(&turn, TurnEnd::Completed).await.unwrap();
    assert_invalid_state(add(OWNER).await);
    assert_eq!(given.store.turn_items(&given.workspace, &turn).await.unwrap().len(), 1);
});

both_databases!(items_that_are_added_at_once_all_get_a_number, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let another = given.another_store().await;
    let mut adding = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = if number % 2 == 0 { given.store.clone() } else { another.clone() };
        let (workspace, turn) = (given.workspace.clone(), turn.clone());
        adding.spawn(async move {
            let items = vec![item(json!(number)), item(json!(number))];
            store.add_turn_items(&workspace, &turn, OWNER, items, Vec::new()).await.unwrap();
        });
    }
    adding.join_all().await;
    let items = given.store.turn_items(&given.workspace, &turn).await.unwrap();
    let numbers: Vec<_> = items.iter().map(|item| item.ordinal).collect();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    assert!(items.chunks(2).all(|pair| pair[0].content == pair[1].content));
    another.close().await;
});
