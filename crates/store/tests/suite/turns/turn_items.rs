//! Items of a turn: in order, all or none, and only from its owner.

use protocol::Version;
use protocol::message::TurnItem;
use protocol::turn::ExplainedHistory;
use store::{RangePart, TurnEnd, TurnRange};

use crate::fixture::{OWNER, assert_ended, assert_not_holder, completed, failed, message, said};

fn context() -> TurnItem {
    TurnItem::Context(ExplainedHistory {
        left_out_through: 1,
        summarised: true,
        missing_after: Some(1),
        summary: Some("short".to_owned()),
        turns: 2,
        entries: 3,
        tokens: 4,
        budget_tokens: 5,
    })
}

both_databases!(items_are_numbered_through_in_the_order_they_come, async |given| {
    let thread = given.thread(None, "thread").await;
    let saved = given.store.save_thread_context(&given.workspace, &thread, 1, Some("short"), Version(0));
    saved.await.unwrap().unwrap();
    let turn = given.turn(&thread).await.id;
    let add = async |items: &[TurnItem]| {
        given.store.add_turn_items(&given.workspace, &turn, OWNER, items, Vec::new()).await.unwrap();
    };
    let items = [context(), message("a\u{0}✓"), message("three")];
    add(&items[..2]).await;
    add(&items[2..]).await;
    let stored = given.items(&turn).await;
    assert_eq!(stored.iter().map(|stored| stored.ordinal).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(stored.iter().all(|stored| stored.turn_id == turn));
    assert_eq!(stored.into_iter().map(|stored| stored.item).collect::<Vec<_>>(), items);
});

// Rolling back to an older version must not make threads unreadable.
both_databases!(an_item_of_a_later_version_is_left_out, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let items = [message("one"), message("two")];
    given.store.add_turn_items(&given.workspace, &turn, OWNER, &items, Vec::new()).await.unwrap();
    let connection = given.connection().await;
    let later = "UPDATE turn_item SET kind = 'thought', content = 'of some kind' WHERE ordinal = 1";
    connection.execute(later).await.unwrap();
    connection.close().await;
    assert_eq!(given.items(&turn).await.iter().map(said).collect::<Vec<_>>(), ["two"]);
});

both_databases!(items_of_completed_turns_come_in_one_answer, async |given| {
    let thread = given.thread(None, "thread").await;
    let ends = [completed(), failed(), completed(), TurnEnd::Cancelled, completed()];
    for (number, end) in ends.into_iter().enumerate() {
        let turn = given.turn(&thread).await.id;
        let items = [1, 2].map(|item| message(&format!("[{number},{item}]")));
        given.store.add_turn_items(&given.workspace, &turn, OWNER, &items, Vec::new()).await.unwrap();
        given.finish(&turn, end).await.unwrap();
    }
    given.turn(&given.thread(None, "another thread").await).await;
    let some = async |after, before, part| {
        let range = TurnRange { after, before, part };
        let items = given.store.completed_items(&given.workspace, &thread, range).await.unwrap();
        items.into_iter().map(|(turn, item)| (turn, said(&item))).collect::<Vec<_>>()
    };
    let expected = |turns: &[u64]| {
        let items =
            turns.iter().flat_map(|turn| [1, 2].map(|item| (*turn, format!("[{},{item}]", turn - 1))));
        items.collect::<Vec<_>>()
    };
    assert_eq!(some(0, 9, RangePart::All).await, expected(&[1, 3, 5]));
    assert_eq!(some(1, 5, RangePart::All).await, expected(&[3]));
    assert_eq!(some(5, 9, RangePart::All).await, expected(&[]));
    assert_eq!(some(0, 9, RangePart::Oldest(2)).await, expected(&[1, 3]));
    assert_eq!(some(1, 9, RangePart::Oldest(1)).await, expected(&[3]));
    assert_eq!(some(0, 9, RangePart::Newest(2)).await, expected(&[3, 5]));
    assert_eq!(some(0, 5, RangePart::Newest(9)).await, expected(&[1, 3]));
});

both_databases!(no_items_are_no_items, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    given.store.add_turn_items(&given.workspace, &turn, OWNER, &[], vec![]).await.unwrap();
    assert_eq!(given.items(&turn).await, []);
});

both_databases!(more_items_than_one_statement_takes_are_added_as_one, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let many: Vec<_> = (0..1201).map(|number| message(&number.to_string())).collect();
    given.store.add_turn_items(&given.workspace, &turn, OWNER, &many, Vec::new()).await.unwrap();
    let items = given.items(&turn).await;
    assert!(items.windows(2).all(|pair| pair[0].ordinal + 1 == pair[1].ordinal));
    assert_eq!(items.into_iter().map(|stored| stored.item).collect::<Vec<_>>(), many);
});

both_databases!(only_the_owner_of_a_running_turn_adds_items, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let add = async |owner: &str| {
        given.store.add_turn_items(&given.workspace, &turn, owner, &[message("1")], Vec::new()).await
    };
    assert_not_holder(add("gateway-2").await);
    add(OWNER).await.unwrap();
    given.finish(&turn, completed()).await.unwrap();
    assert_ended(add(OWNER).await);
    assert_eq!(given.store.turn_items(&given.workspace, &turn).await.unwrap().len(), 1);
});

// The next number is computed from the existing rows, so additions to one turn must be serialized by its lock.
both_databases!(items_that_are_added_at_once_all_get_a_number, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let another = given.another_store().await;
    let mut adding = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = if number % 2 == 0 { given.store.clone() } else { another.clone() };
        let workspace = given.workspace.clone();
        let turn = turn.clone();
        adding.spawn(async move {
            let items = [message(&number.to_string()), message(&number.to_string())];
            store.add_turn_items(&workspace, &turn, OWNER, &items, Vec::new()).await.unwrap();
        });
    }
    adding.join_all().await;
    let items = given.store.turn_items(&given.workspace, &turn).await.unwrap();
    let numbers: Vec<_> = items.iter().map(|item| item.ordinal).collect();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    assert!(items.chunks(2).all(|pair| pair[0].item == pair[1].item));
    another.close().await;
});
