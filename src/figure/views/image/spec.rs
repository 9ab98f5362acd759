//! Attention on the picture: what the view is, and its figures.

use std::sync::Arc;

use super::{
    ImageScene, OverlayLook, PatchColors, Smoothing,
    flows::FlowKind,
    stream::StreamColors,
    weights::{OverlayToken, PatchRole, Picks, of_patches},
};
use crate::{
    analysis::reading::ReadPattern,
    capture::{Capture, ImageInfo, Site, Token},
    figure::{
        ViewKind, data,
        list::Sampling,
        spec::{FigureError, NamedScene, ResolvedSpec, names_of, no_picture},
        views::{Facts, FigureExtent, Topic, ViewGroup, ViewSpec, spec},
    },
    ids::{HeadId, StackKind},
    text::{capitalised, weight_text},
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Image,
    label: "Picture",
    name: "picture",
    former_names: &["image"],
    synonyms: &["attention on the image", "attention rollout on the image", "patches"],
    help: "Attention drawn on the picture",
    group: ViewGroup::Look,
    pages: None,
    facts: Facts {
        names_tokens: true,
        lies_on_picture: true,
        has_frames: true,
        has_color_scale: true,
        ..Facts::PATTERNS
    },
    extent: FigureExtent::Head,
    options: &["image"],
    fields: |options, scope, visit| {
        options.image.visit(scope, visit);
        // Arrows have no colours.
        if scope.all || !options.image.has_arrows(scope) {
            options.visit_scale(visit);
        }
    },
    said: Some(|options| options.image.said()),
    color_map: |options| options.image.color_map,
    needs: spec::patterns,
    wants: &[Site::ResidPre, Site::ResidFinal],
    unavailable,
    question,
    caveat: |topic| match patch_colors(topic) {
        PatchColors::Weights | PatchColors::LessMean => topic.of_weights(),
        PatchColors::Norms | PatchColors::Components => "Not attention: vectors of the patches themselves".to_owned(),
    },
    sheet_text,
    figures,
};

/// The question of the picture: without a held patch the overlay is about the first token before the patches.
fn question(topic: &Topic<'_>) -> String {
    let layer = topic.heads.first().map_or(0, |head| head.layer);
    match patch_colors(topic) {
        PatchColors::Weights | PatchColors::LessMean => {}
        PatchColors::Norms => return format!("Which patches have long vectors in layer {layer}?"),
        PatchColors::Components => return format!("Which patches are alike in layer {layer}?"),
    }
    let (image, mut pinned) = (topic.options.image, topic.pinned);
    let has_prefix = topic.capture.image().is_some_and(|image| image.n_prefix > 0);
    let of_patches = topic.is_of_patches(topic.stack.query_side()) && !topic.stack.is_between();
    if has_prefix && image.flows.is_none() && of_patches {
        let held = match image.role {
            PatchRole::Query => &mut pinned.query,
            PatchRole::Key => &mut pinned.key,
        };
        *held = held.or(Some(0));
    }
    Topic { pinned, ..topic.clone() }.looks()
}

/// What the colours of a topic stand for.
const fn patch_colors(topic: &Topic<'_>) -> PatchColors {
    topic.options.image.colors_of(topic.explained.is_some())
}

/// Why the attention of `stack` cannot be laid on the picture.
fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    if capture.image().is_none() {
        return Some("This input has no picture: drop one on a vision model");
    }
    let on_picture = capture.picture_side().is_some_and(|side| Picks::of(stack, side).is_some());
    (!on_picture).then_some(match stack {
        StackKind::Decoder => {
            "The decoder attends to its own text here; choose the cross stack to see it on the picture"
        }
        StackKind::Text => "This stack attends to text; choose the vision stack to see the picture",
        StackKind::CrossModalText => "This stack attends to text; choose one with vision to see the picture",
        _ => "The keys of this stack are not the patches of the picture",
    })
}

fn sheet_text(resolved: &ResolvedSpec<'_>) -> &'static str {
    resolved.pattern_text(match resolved.spec.options.image.flows {
        None => match resolved.spec.options.image.patch_colors {
            PatchColors::Weights => "Attention on the picture",
            PatchColors::LessMean => "Attention on the picture, less the mean",
            PatchColors::Norms => "Norms of the patches in the residual stream",
            PatchColors::Components => "Principal components of the patches in the residual stream",
        },
        Some(FlowKind::Strongest) => {
            "Arrows from each patch to what it attends to most (ring: itself, square: a token before the patches)"
        }
        Some(FlowKind::All) => {
            "Arrows from patches to what they attend to (ring: themselves, square: a token before the patches)"
        }
    })
}

/// The pattern of a figure, the head that it is of alone, what is picked in it, and its title.
type Drawn = (Arc<ReadPattern>, Option<HeadId>, (OverlayToken, PatchRole), String);

/// The picture that attention is laid on, and what is picked beside it.
fn picture<'a>(resolved: &ResolvedSpec<'a>) -> Result<(&'a ImageInfo, Picks), FigureError> {
    let Some((image, side)) = resolved.capture.image().zip(resolved.capture.picture_side()) else {
        return Err(no_picture(resolved.capture));
    };
    let Some(picks) = Picks::of(resolved.stack, side) else {
        let message = format!("the {} stack does not attend to the picture: choose another --stack", resolved.stack);
        return Err(FigureError::Failed(message));
    };
    if resolved.spec.reading.merging.is_merged() {
        return Err(FigureError::Usage("a picture needs single tokens: leave out --words and --merge".to_owned()));
    }
    Ok((image, picks))
}

/// The tokens of the picture.
fn picture_tokens(capture: &Capture) -> &[Token] {
    capture.picture_side().map_or(&[], |side| capture.tokens(side))
}

/// The largest size of a value on a patch, whatever went to a token before the patches.
fn largest(read: &ReadPattern, (token, role): (OverlayToken, PatchRole), image: &ImageInfo) -> f32 {
    of_patches(&token.weights(read, role), image).iter().map(|weight| weight.abs()).fold(0.0, f32::max)
}

/// Some heads, each as weights on the picture alone: on one scale, or each on its own.
///
/// # Errors
/// When the stack does not attend to a picture.
pub fn of_heads(
    resolved: &ResolvedSpec<'_>,
    patterns: &[Arc<ReadPattern>],
    own_scale: bool,
) -> Result<Vec<ImageScene>, FigureError> {
    let (image, picks) = picture(resolved)?;
    let options = &resolved.spec.options.image;
    let picked = OverlayToken::held((resolved.spec.query, resolved.spec.key), picks, image.n_prefix);
    let most = || patterns.iter().map(|read| largest(read, picked, image)).fold(0.0, f32::max);
    let high = (!own_scale).then(most);
    let sampling = if options.smoothing == Smoothing::Smooth { Sampling::Smooth } else { Sampling::Crisp };
    let look = OverlayLook { map: options.color_map, sampling, opacity: options.opacity, contour: None };
    let scene = |read: &Arc<ReadPattern>| ImageScene {
        read: Arc::clone(read),
        high,
        is_relative: own_scale,
        image: image.clone(),
        names: names_of(picture_tokens(resolved.capture)),
        picks,
        writes: resolved.writes(),
        picked,
        partner: None,
        look,
        stream: None,
        flows: None,
        subject: resolved.subject(&read.heads),
    };
    Ok(patterns.iter().map(scene).collect())
}

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    let (image, picks) = picture(resolved)?;
    let options = &resolved.spec.options.image;
    if options.flows.is_some() && picks != Picks::Patches {
        return Err(FigureError::Usage(format!(
            "arrows lead from patch to patch, but the {} stack is also of words: leave out --flows",
            resolved.stack
        )));
    }
    let held = match (resolved.spec.query, resolved.spec.key) {
        (None, key) => key.map(|key| (key, PatchRole::Key)),
        (query, _) => query.map(|query| (query, PatchRole::Query)),
    };
    let picked = OverlayToken::held((resolved.spec.query, resolved.spec.key), picks, image.n_prefix);
    let patch_colors = options.colors_of(resolved.spec.reading.source.explained().is_some());
    let stream_of = |read: &ReadPattern, id: Option<HeadId>| {
        let layer = id.or_else(|| read.heads.first().copied()).map_or(0, |head| head.layer);
        StreamColors::of(resolved.capture, (resolved.stack, layer), patch_colors).map_err(FigureError::Failed)
    };
    let picked = (picked.0.colored_by(patch_colors), picked.1);
    let writes = resolved.writes();
    let partner = match picks {
        Picks::Patches | Picks::Queries => resolved.spec.key.filter(|_| picked.1 == PatchRole::Query),
        Picks::Keys => resolved.spec.query,
    };
    // On paper, which has room for every patch, they are told apart unless somebody wants otherwise.
    let sampling = if options.smoothing == Smoothing::Smooth { Sampling::Smooth } else { Sampling::Crisp };
    let look =
        OverlayLook { map: resolved.spec.color_map(), sampling, opacity: options.opacity, contour: options.contour };
    let patterns = resolved.patterns()?;
    let words = if resolved.spec.each.query { resolved.words() } else { Vec::new() };
    if resolved.spec.each.query && (picks != Picks::Queries || words.is_empty()) {
        let message = format!("the queries of the {} stack are no words: choose another --stack", resolved.stack);
        return Err(FigureError::Usage(message));
    }
    // The scale of small multiples is that of the patches, whatever went to a token before them.
    let on_patches = |read: &ReadPattern, picked| largest(read, picked, image);
    let (several, of_words) = (patterns.len() > 1, !words.is_empty());
    // A word that looks at much gives little to each patch: it has a scale of its own, where nobody wants one for all.
    // Differences have one, as their signs are compared.
    let is_relative = of_words
        && !resolved.spec.options.shared_scale
        && patch_colors == PatchColors::Weights
        && patterns.iter().all(|(read, _)| !read.signed);
    // What each figure is of: a head, or a word of it.
    let mut drawn = Vec::new();
    for (read, id) in &patterns {
        let subject = resolved.subject(&read.heads);
        let heads = if several { format!("{}: ", capitalised(&subject)) } else { String::new() };
        let of_word = |(query, word): &(usize, String)| {
            let picked = (OverlayToken::Token(*query).colored_by(patch_colors), PatchRole::Query);
            let most =
                if is_relative { format!(" · {}", weight_text(on_patches(read, picked))) } else { String::new() };
            (Arc::clone(read), None, picked, format!("{heads}{word}{most}"))
        };
        drawn.extend(words.iter().map(of_word));
        drawn.extend((!of_words).then(|| (Arc::clone(read), *id, picked, capitalised(&subject))));
    }
    let high = if is_relative {
        None
    } else if resolved.spec.is_sheet() || resolved.spec.options.shared_scale && patch_colors != PatchColors::Weights {
        let largest = |(read, id, picked, _): &Drawn| {
            let of_stream = |stream: StreamColors| of_patches(&stream.numbers(), image).into_iter().fold(0.0, f32::max);
            Ok(stream_of(read, *id)?.map_or_else(|| on_patches(read, *picked), of_stream))
        };
        let largest = drawn.iter().map(largest).collect::<Result<Vec<f32>, FigureError>>()?;
        Some(largest.into_iter().fold(0.0, f32::max))
    } else {
        resolved.shared_high(&patterns)
    };
    let figure = |(read, id, picked, label): Drawn| {
        let subject = resolved.subject(&read.heads);
        let stream = stream_of(&read, id)?;
        let scene = ImageScene {
            read,
            high,
            is_relative,
            image: image.clone(),
            names: names_of(picture_tokens(resolved.capture)),
            picks,
            writes,
            picked,
            partner,
            look,
            stream: stream.map(Arc::new),
            flows: options.flow_filter().map(|filter| (filter, held)),
            subject,
        };
        let numbers = scene.clone();
        Ok(resolved.named(Box::new(scene), Box::new(move || data::image(&numbers)), label, id))
    };
    drawn.into_iter().map(figure).collect()
}
