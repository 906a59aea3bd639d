//! Draws the pictures of the docs. `cargo xtask pictures` writes them; all other runs only draw.
//!
//! Needs a Vulkan driver, such as Mesa's software driver, and no screen.

use std::path::Path;
use std::sync::Arc;

use gateway_process::Launch;
use gpui_kit::HeadlessAppContext;
use gpui_kit::test::TestWindowExt as _;
use scripted_model::{Answer, ScriptedModel, Wire};

use crate::harness::{Desk, Peer, program};

const ROOT: &str = "# Shop

Two services and a web client. Ask before you add a dependency.

## Always

- Run `just check` before you report that something works.
- Money is in minor units (`i64`), never in floats.
- Migrations are append-only; a mistake is fixed by the next one.

## Never

- Do not log card numbers, also not masked ones.
- Do not edit generated files under `gen/`.
";

const PAYMENTS: &str = "# Payments

Everything here moves money. Small steps, each with a test.

## Rules

1. An amount without a currency is a bug.
2. Every call to the acquirer carries an idempotency key:

   ```rust
   let key = IdempotencyKey::of(&order, attempt);
   ```

3. Time-outs are *unknown*, not *failed*: ask for the state before trying again.

## Where things are

- `acquirer/` talks to the bank, one file for each of its calls
- `ledger/` is double-entry; see `docs/ledger.md` before touching it
";

/// Creates an application that draws.
fn context() -> HeadlessAppContext {
    HeadlessAppContext::with_platform(
        gpui_kit::platform::current_platform(true).text_system(),
        Arc::new(gpui_kit::assets::AllAssets),
        gpui_kit::platform::current_headless_renderer,
    )
}

/// Draws the window, for the docs if `UPDATE_DOCS` is set.
fn picture(desk: &mut Desk, name: &str) {
    draw(desk, name, std::env::var_os("UPDATE_DOCS").is_some());
}

/// Draws the window into the target directory, for manual review.
fn draft_picture(desk: &mut Desk, name: &str) {
    draw(desk, name, false);
}

fn draw(desk: &mut Desk, name: &str, is_for_docs: bool) {
    desk.frame();
    let image = desk.cx.capture_screenshot(desk.window).unwrap();
    let colours: std::collections::HashSet<_> = image.pixels().map(|pixel| pixel.0).collect();
    // A driver that draws nothing returns an image of one color without an error.
    assert!(colours.len() > 50, "the picture of {name} is blank");
    let directory = if is_for_docs {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures")
    } else {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures")
    };
    std::fs::create_dir_all(&directory).unwrap();
    image.save(directory.join(format!("desktop-{name}.png"))).unwrap();
}

struct Shop {
    other: Peer,
    payments: protocol::FolderId,
    refunds: protocol::ThreadId,
}

fn shop() -> Shop {
    shop_on(Peer::start())
}

fn shop_on(mut other: Peer) -> Shop {
    let services = other.folder(None, "services");
    let payments = other.folder(Some(&services), "payments");
    let catalogue = other.folder(Some(&services), "catalogue");
    let web = other.folder(None, "web");
    other.save(None, ROOT);
    other.save(Some(&payments), PAYMENTS);
    other.save(Some(&web), "\n");
    let refunds = other.agent(Some(&payments), "Refunds in two currencies");
    other.thread(Some(&payments), "Why did the webhook retry?");
    other.thread(Some(&catalogue), "Search by colour");
    other.thread(Some(&web), "Checkout on small screens");
    other.thread(None, "Plan the next release");
    Shop { other, payments, refunds }
}

/// Opens a window with the tree expanded for the pictures.
fn open_shop(shop: &Shop, state: &tempfile::TempDir) -> Desk {
    let mut desk = Desk::open_in(context(), shop.other.data(), state);
    desk.until_label("services");
    // Two passes, because folders that the first pass opens load their children later.
    for _ in 0..2 {
        desk.press("home");
        for _ in 0..12 {
            desk.press("right");
            desk.press("down");
        }
    }
    desk.until_label("Refunds in two currencies");
    desk
}

#[test]
fn editor_and_conflict() {
    let mut shop = shop();
    let state = tempfile::tempdir().unwrap();
    let mut desk = open_shop(&shop, &state);
    desk.click(&format!("document-{}", shop.payments));
    desk.until_status("Saved");
    desk.until_label("AGENTS.md, draft");
    picture(&mut desk, "editor");
    desk.press("secondary-shift-l");
    picture(&mut desk, "editor-dark");
    desk.press("secondary-shift-l");
    for _ in 0..6 {
        desk.press("secondary-=");
    }
    draft_picture(&mut desk, "editor-large");
    desk.press("secondary-0");

    desk.press("secondary-end");
    desk.input("- `refunds/` is new: ask before you change its states\n");
    let theirs = PAYMENTS
        .replace("Small steps, each with a test.", "Small steps, each with a test and a reviewer.")
        .replace("see `docs/ledger.md`", "read `docs/ledger.md`");
    let folder = shop.payments.clone();
    shop.other.save(Some(&folder), &theirs);
    desk.until_status("Someone else saved meanwhile");
    picture(&mut desk, "conflict");
}

/// Draws the first screens of a new user.
#[test]
fn beginnings() {
    let data = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let mut desk = Desk::open_in(context(), data.path().join("nothing"), &state);
    desk.until_link("No gateway is running");
    draft_picture(&mut desk, "no-gateway");
    drop(desk);
    let other = Peer::start();
    let mut desk = Desk::open_in(context(), other.data(), &state);
    desk.until_link("Connected");
    desk.until_id("write-root");
    draft_picture(&mut desk, "empty-workspace");
    desk.press("secondary-n");
    desk.until_status("Nothing is saved here yet");
    draft_picture(&mut desk, "new-document");
    desk.press("secondary-shift-g");
    desk.until_id("add-gateway");
    draft_picture(&mut desk, "gateways");
    desk.press("f1");
    desk.until_id("key-list");
    // The dialog fades in.
    desk.cx.advance_clock(std::time::Duration::from_secs(1));
    draft_picture(&mut desk, "keys");
}

#[test]
fn history_of_a_document() {
    let mut shop = shop();
    let folder = shop.payments.clone();
    let earlier =
        PAYMENTS.replace("1. An amount without a currency is a bug.\n", "1. Amounts are in cents.\n");
    for text in [&earlier, &PAYMENTS.to_owned()] {
        shop.other.save(Some(&folder), text);
    }
    let state = tempfile::tempdir().unwrap();
    let mut desk = open_shop(&shop, &state);
    desk.click(&format!("document-{folder}"));
    desk.until_status("Saved");
    desk.press("secondary-h");
    desk.until_said("compared", |words| words == "From version 2 to version 3");
    picture(&mut desk, "history");
    desk.press("secondary-e");
    desk.until_said("from", |words| !words.is_empty());
    picture(&mut desk, "effective");
}

#[test]
fn prompt_and_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let model = runtime.block_on(ScriptedModel::start()).unwrap();
    let configuration = format!(
        "[model]\ndefault = 'anthropic/scripted'\n[providers.anthropic]\nbase_url = '{}'\n",
        model.base_url(Wire::Anthropic),
    );
    let mut launch = Launch { configuration, ..Launch::new(program()) };
    launch.variables.push(("ANTHROPIC_API_KEY", "key".into()));
    // The pictures show paths, which should look like those of a reader and not like a temporary directory.
    let home = home();
    std::fs::create_dir_all(home.path().join("foreword")).unwrap();
    std::fs::write(home.path().join("foreword/config.toml"), &launch.configuration).unwrap();
    launch.variables.push(("FOREWORD_HOME", home.path().join("foreword").into()));
    let root = home.path().join("projects/shop");
    std::fs::create_dir_all(root.join("services/payments")).unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(
        root.join("AGENTS.md"),
        "# Shop\n\nRun `just check` before you say that something works.\n",
    )
    .unwrap();
    std::fs::write(root.join("CLAUDE.md"), "@AGENTS.md\n").unwrap();
    std::fs::write(root.join("services/AGENTS.md"), "# Services\n\nEach has its own database.\n").unwrap();
    std::fs::write(root.join("services/payments/refund.rs"), REFUND).unwrap();
    let mut shop = shop_on(Peer::start_with(launch, Some(root.to_str().unwrap().to_owned())));
    let state = tempfile::tempdir().unwrap();
    let mut desk = open_shop(&shop, &state);
    desk.click(&format!("thread-{}", shop.refunds));
    desk.until_said("placeholder", |words| words.starts_with("Nothing was asked here yet."));

    let read = serde_json::json!({ "path": "services/payments/refund.rs" }).to_string();
    model.answer(Answer::text("I look at what a refund is today.").tool_call("call_1", "read_file", &read));
    model.answer(Answer::text(
        "A refund has an amount and no currency. It should take the currency of the charge that it refunds, and be refused \
         where the two differ. I would change `refund.rs` like that, with a test for each. Shall I?",
    ));
    say(&mut desk, "Can we refund an order that was paid in another currency?");
    desk.until_label("Turn 1: completed");
    let edit = serde_json::json!({
        "path": "services/payments/refund.rs",
        "old_text": "    pub amount: i64,\n",
        "new_text": "    pub amount: i64,\n    pub currency: Currency,\n",
    });
    model.answer(Answer::text("First the field, then its tests.").tool_call(
        "call_2",
        "edit_file",
        &edit.to_string(),
    ));
    model.answer(Answer::text("Done."));
    say(&mut desk, "Yes, in small steps.");
    desk.until("the question", |_, window, _| window.try_find(("allow", 0_usize)).is_some());
    desk.until_said("item-1-2", |words| words.contains("waits for a decision"));
    picture(&mut desk, "thread");
    desk.update(|window, cx| window.click(("allow", 0_usize), cx));
    desk.until_label("Turn 2: completed");
    desk.press("secondary-p");
    desk.until_said(("cache", 0_usize), |words| words.starts_with("Since turn 2 nothing has changed"));
    let payments = shop.payments.clone();
    shop.other.save(Some(&payments), &PAYMENTS.replace("Small steps", "Very small steps"));
    desk.until_said(("cache", 1_usize), |words| words.starts_with("It breaks in section agents_md"));
    picture(&mut desk, "prompt");
    desk.press("secondary-shift-c");
    desk.until_said(("lost", 0_usize), |_| true);
    picture(&mut desk, "compare");
}

/// Returns the home directory in the pictures: `PICTURES_HOME`, or a temporary one.
fn home() -> Home {
    match std::env::var_os("PICTURES_HOME") {
        Some(home) => Home::Named(home.into()),
        None => Home::Temporary(tempfile::tempdir().unwrap()),
    }
}

enum Home {
    Named(std::path::PathBuf),
    Temporary(tempfile::TempDir),
}

impl Home {
    fn path(&self) -> std::path::PathBuf {
        match self {
            Self::Named(path) => path.clone(),
            Self::Temporary(directory) => directory.path().canonicalize().unwrap(),
        }
    }
}

fn say(desk: &mut Desk, text: &str) {
    desk.press("secondary-2");
    desk.input(text);
    desk.click("send");
}

const REFUND: &str = "/// Money that goes back.
pub struct Refund {
    pub charge: ChargeId,
    pub amount: i64,
}
";
