//! Searches in a cloud, heads ranked by how hits lie together, and distance as a proxy of the dot product.

use std::{collections::BTreeMap, sync::Arc};

use attnscope::{
    analysis::{
        PointCloud, Space, distance_fidelity,
        projection::{self, ProjectionOptions, ScaleChoice},
        rank_heads::{self, Shared},
        search::{self, Hits, SearchError, SearchKind, SearchQuery},
    },
    capture::{Capture, CaptureParts, Computation, InputInfo, LayerCapture, PerHead, Site, StackCapture, Token},
    corpus::{Corpus, CorpusView, Kept},
    ids::{CaptureId, HeadId, Side, StackKind},
    spec::{LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

use crate::support::synthetic::{self, Random, token};

const SELF: StackKind = StackKind::SelfAttention;
const WIDTH: usize = 8;
const LAYERS: usize = 2;
const HEADS: usize = 3;
/// The head in which royalty lies together.
const PLANTED: HeadId = HeadId::single(1, 2);

/// Tokens that stand one after the other, `##` touching what is before it; ids count from 100.
fn tokens(labels: &[&str]) -> Vec<Token> {
    let mut at = 0;
    let place = |(idx, label): (usize, &&str)| {
        let piece = label.strip_prefix("##");
        at += usize::from(piece.is_none());
        let mut token = token(label, Some(100 + idx as u32), label.starts_with('['), at);
        token.span.end -= if piece.is_some() { 2 } else { 0 };
        at = token.span.end;
        token
    };
    labels.iter().enumerate().map(place).collect()
}

/// Random queries and keys; in [`PLANTED`] those of `royal` tokens lie around one place.
fn capture(labels: &[&str], royal: &[&str], random: &mut Random) -> Capture {
    let tokens = tokens(labels);
    let n = tokens.len();
    let centre = |dim: usize| if dim.is_multiple_of(2) { 2.0 } else { -2.0 };
    let mut cloud = |layer: usize| {
        let mut values = Vec::new();
        for head in 0..HEADS {
            for label in labels {
                let planted = HeadId::single(layer, head) == PLANTED && royal.contains(label);
                let at = |dim| random.symmetric() + if planted { centre(dim) } else { 0.0 };
                values.extend((0..WIDTH).map(at));
            }
        }
        PerHead::new(values, [HEADS, n, WIDTH]).unwrap()
    };
    let layers = (0..LAYERS).map(|layer| LayerCapture::of([(Site::Q, cloud(layer)), (Site::K, cloud(layer))]));
    let layers = layers.collect();
    let spec = ModelSpec {
        name: "planted".to_owned(),
        family: "bert".to_owned(),
        modality: Modality::Text(TextSpec::new(512, 1000)),
        stacks: vec![StackSpec { kind: SELF, layers: vec![LayerSpec::new(HEADS, WIDTH); LAYERS], causal: false }],
        d_model: HEADS * WIDTH,
        n_params: 1,
        head: None,
        checkpoint: None,
    };
    Capture::new(CaptureParts {
        id: CaptureId(1),
        model: Arc::new(spec),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, tokens)]),
        stacks: vec![StackCapture { kind: SELF, layers, ..StackCapture::default() }],
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

/// Forty sentences, each with one of four words for royalty.
fn planted() -> PointCloud {
    const ROYAL: [&str; 4] = ["king", "queen", "prince", "duchess"];
    let mut random = Random(3);
    let captures: Vec<Arc<Capture>> = (0..40)
        .map(|idx| {
            let royal = ROYAL[idx % 4];
            let words = ["[CLS]", "the", royal, "saw", "a", ["cat", "dog", "bird"][idx % 3], "[SEP]"];
            Arc::new(capture(&words, &ROYAL, &mut random))
        })
        .collect();
    let corpus = Corpus::from_captures(&captures, Kept::default(), u64::MAX).unwrap();
    PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))))
}

fn find(cloud: &PointCloud, text: &str, kind: SearchKind, case: bool) -> Result<Vec<u32>, SearchError> {
    let hits = SearchQuery { text: text.to_owned(), kind, case }.find(cloud, SELF, Space::QueriesKeys)?;
    assert_eq!(hits.queries, hits.keys, "of one sequence");
    Ok(hits.queries)
}

#[test]
fn searches_find_parts_words_expressions_and_ids() {
    let labels = ["[CLS]", "un", "##believ", "##able", "The", "king", "ask", "##ing", "the", "King", "[SEP]"];
    let one = capture(&labels, &[], &mut Random(1));
    let several = [one.clone(), one.clone()].map(Arc::new);
    let corpus = Arc::new(Corpus::from_captures(&several, Kept::default(), u64::MAX).unwrap());
    let cloud = PointCloud::Input(Arc::new(one));
    let found = |text: &str, kind, case| find(&cloud, text, kind, case).unwrap();
    assert_eq!(found("ing", SearchKind::Text, false), [5, 7, 9]);
    assert_eq!(found("King", SearchKind::Text, true), [9]);
    assert_eq!(found("##", SearchKind::Text, false), [0u32; 0], "the mark of a piece is none of its letters");
    assert_eq!(found("asking", SearchKind::Word, false), [6, 7], "all pieces of a word");
    assert_eq!(found("ing", SearchKind::Word, false), [0u32; 0]);
    assert_eq!(found("king, unbelievable", SearchKind::Word, false), [1, 2, 3, 5, 9]);
    assert_eq!(found("^(the|king)$", SearchKind::Regex, true), [5, 8]);
    assert_eq!(found("^T.e$", SearchKind::Regex, false), [4, 8]);
    assert_eq!(found("ing$", SearchKind::Regex, false), [5, 6, 7, 9]);
    assert_eq!(found("104, 109", SearchKind::Id, false), [4, 9]);

    // The same in every input of a corpus, whose tokens have no places any more.
    let cloud = PointCloud::Inputs(Arc::new(CorpusView::all(corpus)));
    let hits = SearchQuery { text: "asking".to_owned(), kind: SearchKind::Word, case: false }
        .find(&cloud, SELF, Space::QueriesKeys)
        .unwrap();
    assert_eq!((hits.queries.as_slice(), hits.n_inputs, hits.n_tokens()), (&[6, 7, 17, 18][..], 2, 4));

    let failed = |text: &str, kind| find(&cloud, text, kind, false).unwrap_err().to_string();
    assert_eq!(failed("  ", SearchKind::Text), "type a text to search for");
    assert_eq!(failed("(king", SearchKind::Regex), "this is not a regular expression: unclosed group");
    assert_eq!(failed("12, x", SearchKind::Id), "“x” is not a token id: give whole numbers separated by commas");
}

#[test]
fn the_head_with_the_planted_cluster_comes_first() {
    let cloud = planted();
    let rank = |hits: &Hits| search::rank(&cloud, SELF, hits, ProjectionOptions::default(), &mut |_, _| true).unwrap();
    let royal = SearchQuery { text: "king,queen,prince,duchess".to_owned(), kind: SearchKind::Word, case: false };
    let hits = royal.find(&cloud, SELF, Space::QueriesKeys).unwrap();
    assert_eq!((hits.n_tokens(), hits.n_inputs), (40, 40));
    let ranked = rank(&hits);
    assert_eq!(ranked.len(), LAYERS * HEADS);
    assert_eq!(ranked[0].head, PLANTED);
    let (first, second) = (ranked[0].found.score().unwrap(), ranked[1].found.score().unwrap());
    assert!(first > 0.9 && second.abs() < 0.1, "{first} {second}");
    assert!(ranked[0].found.across.is_some(), "different words are together, not copies of one");
    // One word alone is measured among all points.
    let one = SearchQuery { text: "king".to_owned(), kind: SearchKind::Word, case: false }
        .find(&cloud, SELF, Space::QueriesKeys)
        .unwrap();
    assert_eq!(rank(&one)[0].found.across, None);
    // Marks dealt at random are together nowhere.
    let shuffled: Vec<u32> = (0..280).filter(|point| point * 13 % 7 == 3).collect();
    let shuffled = rank(&Hits { queries: shuffled.clone(), keys: shuffled, n_inputs: 40 });
    assert!(shuffled.iter().all(|head| head.found.score().unwrap().abs() < 0.15), "{shuffled:?}");
    assert_eq!(search::rank(&cloud, SELF, &hits, ProjectionOptions::default(), &mut |done, _| done == 0), None);
}

/// Sharing is measured without a search: the planted head holds texts together that share a length of five letters,
/// and a head whose queries and keys are positions holds those together.
#[test]
fn heads_are_ranked_by_what_neighbours_share() {
    let all = ProjectionOptions::default();
    let cloud = planted();
    let rank = |cloud: &PointCloud, name: &str| {
        let shared = Shared::from_name(name).unwrap();
        rank_heads::rank_shared(cloud, SELF, shared, all, &mut |_, _| true).unwrap()
    };
    // Royal words are all at position 2, so there the planted head holds positions together.
    let ranked = rank(&cloud, "position").unwrap();
    assert_eq!(ranked[0].head, PLANTED);
    assert!(ranked[1].found.score().unwrap() < 0.1, "{ranked:?}");
    let (texts, inputs) = (rank(&cloud, "text").unwrap(), rank(&cloud, "input").unwrap());
    assert_eq!((texts[0].head, texts[0].found.n_looked), (PLANTED, 256));
    assert!(inputs.iter().all(|head| head.found.score().unwrap().abs() < 0.1), "{inputs:?}");
    assert_eq!(rank(&cloud, "hue").unwrap_err(), "there is no picture");
    assert_eq!(Shared::from_name("type"), None, "a side is nothing that tokens share");
    // Heads that look at themselves, the one before and a little of everything: their keys are positions.
    let several: Vec<Arc<Capture>> = (0..6).map(|_| Arc::new(synthetic::text_capture(24, 1, 5))).collect();
    let corpus = Corpus::from_captures(&several, Kept::default(), u64::MAX).unwrap();
    let positions = rank(&PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus)))), "position").unwrap();
    assert!([0, 2].contains(&positions[0].head.head), "{positions:?}");
    assert!(positions[0].found.score().unwrap() > 0.9);
}

#[test]
fn proxies_are_those_of_the_projection_and_a_plot_shows_them() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(24, 2, 5)));
    let options = ProjectionOptions { scale: ScaleChoice::Search, ..ProjectionOptions::default() };
    let all = distance_fidelity::proxies(&cloud, SELF, options, false, &mut |_, _| true).unwrap();
    assert_eq!(all.len(), 10);
    for one in &all {
        let projected = projection::project_head(&cloud, one.head, options).unwrap();
        assert_eq!(one.correlations.after.per_query.pearson.unwrap() as f32, projected.correlation_after);
        assert_eq!(one.c as f32, projected.c);
        assert_eq!(one.correlations.after.pooled.spearman, None, "ranks were not asked for");
        let as_given = ProjectionOptions { scale: ScaleChoice::None, translate_keys: false, ..options };
        let same = distance_fidelity::proxy(&cloud, one.head, as_given, true).unwrap().correlations;
        assert_eq!(same.before.pooled, same.after.pooled);
        assert!(same.before.pooled.spearman.is_some());
        let untranslated = ProjectionOptions { translate_keys: false, ..options };
        let searched = distance_fidelity::proxy(&cloud, one.head, untranslated, false).unwrap().correlations;
        assert!(searched.after.pooled.pearson <= searched.before.pooled.pearson, "a search finds no worse scale");
        let plot = distance_fidelity::plot(&cloud, one.head, untranslated, 300).unwrap();
        assert_eq!((plot.pairs.len(), plot.curve.len()), (300, 33));
        assert!(plot.curve.is_sorted_by(|a, b| a.c < b.c));
        assert!(plot.curve.iter().all(|step| plot.best.pooled <= step.pooled), "{}", one.head);
        assert!((plot.best.pooled.unwrap() - searched.after.pooled.pearson.unwrap()).abs() < 1e-6);
    }
    assert_eq!(distance_fidelity::proxies(&cloud, SELF, options, false, &mut |_, _| false), None);
    assert_eq!(distance_fidelity::caveat(&cloud, all[0].head), None);
}
