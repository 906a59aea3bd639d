//! The stored parts of any prompt rebuild it byte for byte.

use std::sync::{Arc, Mutex};

use hooks::{ContributionKind, HookContext, HookPackage, HookSubscription, Phase, PromptSection};
use proptest::prelude::*;

use crate::fixture::World;

/// Arbitrary text, including hostile text.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z \\n]{0,300}",
        3 => "(\\PC|\\n|\\r\\n|</AGENTS_MD>|<agents_context>|## Safety|\u{e0041}|\u{202e}|\u{0}|\u{1b}){0,60}",
        1 => Just("a long line of text that fills the section\n".repeat(900)),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => text().prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
    ]
}

#[test]
fn stored_parts_rebuild_the_prompt_exactly() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let world = runtime.block_on(World::new());
    let dynamic: Arc<Mutex<[String; 2]>> = Arc::default();
    let told = |which: usize| {
        let dynamic = Arc::clone(&dynamic);
        move || dynamic.lock().unwrap()[which].clone()
    };
    let context = told(0);
    let section = told(1);
    let context = HookSubscription::new("context", Phase::PrePromptContext, move |_: HookContext| {
        let text = context();
        async move { Ok(vec![PromptSection::new("k", "dynamic_context", "", text).into()]) }
    })
    .may_contribute([ContributionKind::PromptSection]);
    let section = HookSubscription::new("section", Phase::PrePromptCompile, move |_: HookContext| {
        let text = section();
        async move { Ok(vec![PromptSection::new("s", "of_hook", "Of a hook", text).into()]) }
    })
    .may_contribute([ContributionKind::PromptSection]);
    let package = HookPackage::new("p", "p").with(context).with(section);
    let agent = runtime.block_on(async { world.agent_with([package]) });

    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    let cases = (text(), [bytes(), bytes(), bytes()], [text(), text()]);
    proptest!(config, |((document, files, of_hooks) in cases)| {
        let [soul, user, agents] = files;
        world.write("home/SOUL.md", soul);
        world.write("home/USER.md", user);
        world.write("repo/AGENTS.md", agents);
        *dynamic.lock().unwrap() = of_hooks;
        runtime.block_on(async {
            world.save(&document.replace('\0', "")).await;
            let (turn, compiled) = world.keep(&agent).await;
            let manifest = agent.manifest(&world.workspace, &turn, None).await.unwrap();
            prop_assert_eq!(&manifest, &compiled.manifest);
            let rebuilt = agent.rebuild(&world.workspace, &manifest).await.unwrap();
            prop_assert_eq!(rebuilt.stable_text, compiled.stable_text);
            prop_assert_eq!(rebuilt.session_text, compiled.session_text);
            prop_assert_eq!(rebuilt.turn_text, compiled.turn_text);
            prop_assert_eq!(rebuilt.full_text, compiled.full_text);
            Ok(())
        })?;
    });
    runtime.block_on(world.store.close());
}
