//! Small pictures of what each view would show of the active pane, drawn one after the other while they are looked at.

use std::{collections::HashMap, sync::Arc};

use super::{Documents, FigureOptions, FigureRange, FileKind, Loadable, Panes, ViewKind, figures::figure, jobs::Jobs};
use crate::{
    capture::RgbaBuffer,
    figure::{
        CaptionKind,
        spec::{FigureSpec, Paper},
    },
    ids::{CaptureId, JobId},
    protocol::{Lane, Request, Update},
    session::Effect,
};

/// Size of the drawing, in points; a card shows it at half the size.
const SIZE_PT: [f32; 2] = [288.0, 160.0];
/// Largest picture, in pixels.
const MAX_PX: [f32; 2] = [432.0, 240.0];

/// A view, and one of its pages where it has several.
pub type CardKey = (ViewKind, Option<usize>);

/// The pictures of all views.
#[derive(Debug, Default)]
pub struct ViewCards {
    /// Whether they are light on dark; `None` while nobody looks at them.
    dark: Option<bool>,
    cards: HashMap<CardKey, Card>,
}

/// The picture of a view.
#[derive(Debug, Default)]
struct Card {
    picture: Loadable<Arc<RgbaBuffer>>,
    /// The figure that it was asked for.
    asked: Option<(CaptureId, Arc<FigureSpec>, Vec<usize>)>,
}

impl ViewCards {
    /// Whether they are drawn, and light on dark; `None` while nobody looks at them.
    pub const fn dark(&self) -> Option<bool> {
        self.dark
    }

    /// The picture of a view as far as there is one.
    pub fn picture(&self, key: CardKey) -> Option<&Loadable<Arc<RgbaBuffer>>> {
        self.cards.get(&key).map(|card| &card.picture)
    }

    /// Begins to draw them, or lets go of them.
    pub(super) fn show(&mut self, dark: Option<bool>) -> Option<Effect> {
        let is_drawing = self.cards.values().any(|card| card.picture.is_pending());
        *self = Self { dark, cards: HashMap::new() };
        is_drawing.then_some(Effect::Cancel(Lane::Card))
    }

    /// Takes in a picture.
    pub(super) fn on_event(&mut self, job: JobId, update: Update<Arc<RgbaBuffer>>) {
        if let Some(card) = self.cards.values_mut().find(|card| card.picture.job() == Some(job)) {
            card.picture.hear(job, update);
        }
    }

    /// Stops the picture that is being drawn.
    pub(super) fn stop(&mut self) {
        self.cards.values_mut().for_each(|card| card.picture.cancel());
    }

    /// Asks for the next picture that is missing or of something else.
    pub(super) fn draw_next(&mut self, panes: &Panes, documents: &Documents, jobs: &mut Jobs) -> Option<Effect> {
        let dark = self.dark?;
        if self.cards.values().any(|card| card.picture.is_pending()) {
            return None;
        }
        let pane = panes.active();
        let paper = Paper {
            dark,
            width: Some(SIZE_PT[0]),
            height: Some(SIZE_PT[1]),
            caption: CaptionKind::None,
            ..Paper::default()
        };
        let options = FigureOptions { kind: FileKind::Png, range: FigureRange::Shown, paper };
        for (view, page) in ViewKind::ALL.into_iter().flat_map(keys) {
            let document = documents.of(pane);
            // Figures are made of runs, which a folder of heads has none of.
            if pane.view_unavailable(document, view).is_some() || document.folder().is_some() {
                continue;
            }
            let mut pane = pane.clone();
            pane.view = view;
            if let Some((pages, page)) = view.spec().pages.zip(page) {
                (pages.show)(&mut pane.options, page);
            }
            let Some(figure) = figure(&pane, documents, options) else { continue };
            let made_of = figure.identities();
            let asked = Some((figure.capture.id(), Arc::clone(&figure.spec), made_of));
            let card = self.cards.entry((view, page)).or_default();
            if card.asked != asked {
                let job = jobs.next();
                card.asked = asked;
                card.picture.start(job);
                return Some(Effect::Submit(job, Request::Card(figure, MAX_PX)));
            }
        }
        None
    }
}

/// The cards of a view: one, or one for each page.
pub fn keys(view: ViewKind) -> impl Iterator<Item = CardKey> {
    let n_pages = view.spec().pages.map_or(0, |pages| pages.n);
    let whole = (n_pages == 0).then_some((view, None));
    whole.into_iter().chain((0..n_pages).map(move |page| (view, Some(page))))
}
