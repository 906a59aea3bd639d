//! Read-only pane with the document that would apply without this one.

use client::Failure;
use gpui_kit::component::text::TextView;
use gpui_kit::component::{ActiveTheme as _, Icon, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{AnyElement, Context, SharedString, div};
use protocol::ResolvedDocument;
use protocol::method::{DocumentResolveForFolder, DocumentScopeParams};

use super::DocumentEditor;
use crate::hidden;
use crate::icons::IconName;
use crate::strings::{self, editor as words};

#[derive(Default)]
pub(super) enum Inherited {
    #[default]
    Unknown,
    /// The root inherits nothing.
    AtRoot,
    Nothing,
    Document(Box<ResolvedDocument>),
    Failed(String),
}

impl DocumentEditor {
    /// Loads the document that applies to the parent folder.
    pub(super) fn load_inherited(&mut self, cx: &mut Context<Self>) {
        let Some(folder_id) = &self.scope else {
            self.inherited = Inherited::AtRoot;
            return;
        };
        // There is no method for "without this document", but a folder without one gets the document of its
        // parent.
        let session = self.session.read(cx);
        let above = session
            .tree()
            .and_then(|tree| tree.folder(folder_id))
            .and_then(|folder| folder.parent_folder_id.clone());
        let params = DocumentScopeParams { workspace_id: self.workspace_id.clone(), folder_id: above };
        let call = session.gateway().call::<DocumentResolveForFolder>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await;
            this.update(cx, |this, cx| {
                this.inherited = match answer {
                    Ok(result) => result
                        .effective
                        .map_or(Inherited::Nothing, |found| Inherited::Document(Box::new(found))),
                    Err(error) => Inherited::Failed(Failure::from(&error).message),
                };
                cx.notify();
            })
            .ok();
        })
        .detach();
    }

    pub(super) fn inherited_pane(&self, cx: &mut Context<Self>) -> impl IntoElement + use<> {
        let muted = cx.theme().muted_foreground;
        let hint = |title: &'static str, hint: SharedString| {
            v_flex().p_4().gap_1().text_sm().text_color(muted).child(title).child(div().text_xs().child(hint))
        };
        let body: AnyElement = match &self.inherited {
            Inherited::Unknown => hint(words::LOADING, "".into()).into_any_element(),
            Inherited::AtRoot => {
                hint(words::INHERITED_NOTHING, words::INHERITED_ROOT_HINT.into()).into_any_element()
            }
            Inherited::Nothing => {
                hint(words::INHERITED_NOTHING, words::INHERITED_NOTHING_HINT.into()).into_any_element()
            }
            Inherited::Failed(problem) => {
                hint(words::INHERITED_NOTHING, problem.clone().into()).into_any_element()
            }
            Inherited::Document(resolved) => {
                let place = match resolved.source_path.as_slice() {
                    [] => strings::ROOT.to_owned(),
                    names => hidden::name(&names.join(" / ")).to_string(),
                };
                // White space alone is a draft and hides nothing, in the gateway as here.
                let own = !self.editing.text().trim().is_empty();
                let note = if own { words::HIDDEN } else { words::APPLIES };
                v_flex()
                    .size_full()
                    .child(
                        v_flex()
                            .px_4()
                            .py_2()
                            .gap_0p5()
                            .text_xs()
                            .text_color(muted)
                            .child(words::inherited_from(&place))
                            .child(note),
                    )
                    .child(
                        div()
                            .id("inherited-text")
                            .flex_1()
                            .min_h_0()
                            .overflow_y_scroll()
                            .px_4()
                            .pb_4()
                            .text_sm()
                            .when(own, |this| this.opacity(0.6))
                            .child(
                                TextView::markdown("inherited-markdown", resolved.doc.content.clone())
                                    .selectable(true),
                            ),
                    )
                    .into_any_element()
            }
        };
        v_flex()
            .id("inherited")
            .size_full()
            .bg(cx.theme().sidebar)
            .child(
                h_flex()
                    .px_4()
                    .py_2()
                    .gap_2()
                    .text_sm()
                    .border_b_1()
                    .border_color(cx.theme().border)
                    .child(Icon::new(IconName::FileUp).small())
                    .child(div().flex_1().child(words::INHERITED_TITLE))
                    .child(div().text_xs().text_color(muted).child(words::READ_ONLY)),
            )
            .child(div().flex_1().min_h_0().child(body))
    }
}
