//! Packages that a registry refuses without changing.

use std::time::Duration;

use hooks::{
    ContributionKind, Execution, FailurePolicy, HookPackage, HookRegistry, HookSubscription, JobContext,
    Phase, PromptSection, RegistrationError,
};
use protocol::Hint as _;

use crate::behaviour::{Does, PHASE, section};

fn hook(id: &str) -> HookSubscription {
    HookSubscription::new(id, PHASE, Does::Hang)
}

fn package(id: &str, subscriptions: impl IntoIterator<Item = HookSubscription>) -> HookPackage {
    subscriptions.into_iter().fold(HookPackage::new(id, "domain"), HookPackage::with)
}

/// Returns the error of a package beside one that has the hook `there`.
fn refused(subscriptions: impl IntoIterator<Item = HookSubscription>) -> String {
    let mut registry = HookRegistry::new();
    registry.register(package("first", [hook("there")])).unwrap();
    let error = registry.register(package("second", subscriptions)).unwrap_err();
    // Half a package would be worse than none: its hooks may rely on each other. The registry must be as it
    // was.
    assert_eq!(registry.packages().collect::<Vec<_>>(), [("first", "domain")]);
    assert_eq!(registry.subscriptions(PHASE).collect::<Vec<_>>(), ["there"]);
    error.with_hint()
}

#[test]
fn invalid_packages_are_refused_without_changes() {
    let second = Duration::from_secs(1);
    let background = |id| hook(id).execution(Execution::Background);
    for (subscriptions, expected) in [
        (vec![hook("")], "invalid id \"\" in package \"second\""),
        (vec![hook("a").id("b c")], "invalid id \"b c\" in package \"second\""),
        (
            vec![hook("good"), hook("there")],
            "subscription `there` of package `second` already exists in package `first`",
        ),
        (
            vec![hook("a"), hook("a")],
            "subscription `a` of package `second` already exists in package `second`",
        ),
        (
            vec![hook("a").after("nobody")],
            "subscription `a` names `nobody`, which is not in turn.pre_prompt_compile",
        ),
        (
            vec![hook("a").before("nobody")],
            "subscription `a` names `nobody`, which is not in turn.pre_prompt_compile",
        ),
        (
            vec![hook("a").after("b"), HookSubscription::new("b", Phase::PostTurn, Does::Hang)],
            "subscription `a` names `b`, which is not in turn.pre_prompt_compile\nhint: it is in turn.post_turn",
        ),
        (vec![hook("a").after("a")], "cyclic hook order in turn.pre_prompt_compile: a before a"),
        (
            vec![hook("a").after("c"), hook("b").after("a"), hook("c").after("b").after("there")],
            "cyclic hook order in turn.pre_prompt_compile: a before b before c before a",
        ),
        (vec![hook("a").timeout(Duration::ZERO)], "subscription `a` has a timeout of 0ns"),
        (vec![hook("a").timeout(Duration::MAX)], "hint: use a timeout above zero, at most 3600s"),
        (
            vec![hook("good").timeout(second), background("a"), hook("b").after("a")],
            "`b` is to run after `a`, which runs in the background",
        ),
        (vec![background("a").before("there")], "`there` is to run after `a`, which runs in the background"),
        (
            vec![background("a").failure(FailurePolicy::FailClosed)],
            "subscription `a` runs in the background and cannot fail closed",
        ),
        (
            vec![
                background("a")
                    .may_contribute([ContributionKind::BackgroundJob, ContributionKind::PromptSection]),
            ],
            "subscription `a` runs in the background and cannot contribute prompt_section",
        ),
        (
            vec![hook("a").fallback([section("s", "")])],
            "the fallback of subscription `a` cannot be used: prompt_section `s` was refused: the subscription does not declare prompt_section",
        ),
        (
            vec![
                hook("a").may_contribute([ContributionKind::PromptSection]).fallback([PromptSection::new(
                    "s",
                    "s",
                    "",
                    "x".repeat(40_000),
                )
                .into()]),
            ],
            "the fallback of subscription `a` cannot be used: prompt_section `s` was cut to 32000 characters",
        ),
        (
            vec![
                hook("a")
                    .may_contribute([ContributionKind::PromptSection])
                    .fallback([section("s", "")])
                    .failure(FailurePolicy::Skip),
            ],
            "the fallback of subscription `a` cannot be used: it needs the failure policy `fallback`",
        ),
    ] {
        let error = refused(subscriptions);
        assert!(error.contains(expected), "{error}\nis not\n{expected}");
    }
}

#[test]
fn a_package_is_registered_once() {
    let mut registry = HookRegistry::new();
    registry.register(package("a", [])).unwrap();
    let error = registry.register(package("a", [hook("h")])).unwrap_err();
    assert_eq!(error, RegistrationError::DuplicatePackage("a".to_owned()));
    assert!(registry.register(package("", [])).is_err());
}

#[test]
fn packages_registered_together_may_name_each_other() {
    let first = || package("first", [hook("a").after("b")]);
    let second = || package("second", [hook("b"), hook("c").before("b")]);
    let mut registry = HookRegistry::new();
    // Alone, the first package names a hook that does not exist.
    assert!(matches!(registry.register(first()), Err(RegistrationError::UnknownName { .. })));
    registry.register_all([first(), second()]).unwrap();
    assert_eq!(registry.subscriptions(PHASE).collect::<Vec<_>>(), ["c", "b", "a"]);
}

#[test]
fn one_invalid_package_refuses_all() {
    let mut registry = HookRegistry::new();
    let packages = [package("first", [hook("a")]), package("second", [hook("b").after("nobody")])];
    assert!(registry.register_all(packages).is_err());
    assert_eq!(registry.packages().count(), 0);
    assert_eq!(registry.subscriptions(PHASE).count(), 0);
}

#[test]
fn a_hook_id_names_all_subscriptions_of_the_hook() {
    let mut registry = HookRegistry::new();
    let many =
        [hook("many").id("many.1"), hook("many").id("many.2"), hook("z").before("many").before("many.1")];
    // One subscription is named twice, by its hook and by its own id. The repeated edge must not keep it waiting
    // forever.
    registry.register(package("a", many)).unwrap();
    assert_eq!(registry.subscriptions(PHASE).collect::<Vec<_>>(), ["z", "many.1", "many.2"]);
}

#[test]
fn one_worker_per_kind_of_job() {
    let package = |id: &str, kind: &str| HookPackage::new(id, id).doing(kind, async |_: JobContext| Ok(()));
    let mut registry = HookRegistry::new();
    registry.register(package("one", "note")).unwrap();
    let refused = registry.register(package("two", "note")).unwrap_err();
    assert_eq!(refused.to_string(), "package `two` registers a second worker for jobs of kind `note`");
    assert!(registry.register(package("three", "a b")).is_err());
    assert_eq!(registry.job_kinds().collect::<Vec<_>>(), ["note"]);
}
