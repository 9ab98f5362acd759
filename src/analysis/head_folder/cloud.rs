//! Clouds of a folder: the vectors of queries, keys, values and outputs of strong pairs of a head, laid out, and read from and
//! written to the files of its folder `umap`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::rounded;
use crate::{
    json_file::{self, JsonLimits},
    projection::{Pca, Points},
    text::{counted, told},
};

/// Pairs, layouts and clusters that are read of a file.
const MOST_PAIRS: usize = 20_000;
pub const MOST_LAYOUTS: usize = 16;
const MOST_CLUSTERS: usize = 64;
const LIMITS: JsonLimits = JsonLimits { bytes: 64 << 20, parts: 8 << 20 };
/// Panels in the order in which they are shown: outputs and queries are those of the query, keys and values of the key.
pub const PANELS: [(&str, &str); 5] =
    [("O", "Outputs"), ("Q", "Queries"), ("K", "Keys"), ("V", "Values"), ("R", "Residual stream")];

/// Pairs of queries and keys of a head with their vectors in a plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadCloud {
    pub pairs: Vec<CloudPair>,
    pub layouts: Vec<CloudLayout>,
    pub clusters: Vec<CloudCluster>,
    /// Tokens of their sequences, where the folder has them.
    pub texts: BTreeMap<u64, Vec<String>>,
    /// What was found wrong and left out, a clause each.
    pub notes: Vec<String>,
}

/// A query and a key of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CloudPair {
    pub sequence: u64,
    pub query: u32,
    pub key: u32,
}

/// All panels laid out one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CloudLayout {
    /// Such as `principal components`.
    pub name: String,
    pub panels: Vec<CloudPanel>,
}

/// One kind of vectors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CloudPanel {
    /// Its place in [`PANELS`].
    pub kind: usize,
    /// By pair; the first two are drawn.
    pub points: Vec<[f32; 3]>,
    /// Lengths of the vectors by pair, where the file has them.
    pub norms: Option<Vec<f32>>,
}

/// Pairs that somebody has named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CloudCluster {
    pub name: String,
    /// Places of its pairs.
    pub pairs: Vec<usize>,
}

impl CloudPanel {
    /// What its vectors are.
    pub const fn title(&self) -> &'static str {
        PANELS[self.kind].1
    }

    /// From the lowest to the highest length, 0 to 1, by pair.
    pub fn ranks(&self) -> Option<Vec<f32>> {
        let norms = self.norms.as_ref()?;
        let mut order: Vec<usize> = (0..norms.len()).collect();
        order.sort_by(|a, b| norms[*a].total_cmp(&norms[*b]).then(a.cmp(b)));
        let mut ranks = vec![0.0; norms.len()];
        let last = norms.len().saturating_sub(1).max(1) as f32;
        order.into_iter().enumerate().for_each(|(rank, at)| ranks[at] = rank as f32 / last);
        Some(ranks)
    }
}

impl HeadCloud {
    /// The cloud of a file of the folder `umap`.
    ///
    /// # Errors
    /// A clause, when it is none.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let read = json_file::of_python_within(bytes, LIMITS).map_err(|error| error.to_string())?;
        let read = read.as_object().ok_or("it is no object")?;
        let list = |name: &str| -> Result<Vec<u64>, String> {
            let all = read.get(name).and_then(Value::as_array).ok_or_else(|| format!("it has no {name}"))?;
            all.iter().map(whole).collect::<Option<_>>().ok_or_else(|| format!("one of its {name} is no whole number"))
        };
        let [sequences, queries, keys] = [list("seq_idx")?, list("top_q")?, list("top_k")?];
        if sequences.len() != queries.len() || sequences.len() != keys.len() {
            let n = [&sequences, &queries, &keys].map(|list| list.len().to_string()).join(", ");
            return Err(format!("its seq_idx, top_q and top_k have different lengths: {n}"));
        }
        if sequences.len() > MOST_PAIRS {
            return Err(format!("it has {} pairs, and at most {MOST_PAIRS} are read", sequences.len()));
        }
        let small = |number: u64| u32::try_from(number).map_err(|_| format!("{number} is no place in a sequence"));
        let all = sequences.into_iter().zip(queries).zip(keys);
        let pair = |((sequence, query), key)| Ok(CloudPair { sequence, query: small(query)?, key: small(key)? });
        let pairs = all.map(pair).collect::<Result<Vec<_>, String>>()?;
        let mut cloud = Self { pairs, ..Self::default() };
        cloud.read_layouts(read);
        cloud.read_clusters(read.get("clusters"));
        if cloud.layouts.is_empty() {
            let why = cloud.notes.first().map_or_else(|| "it has none".to_owned(), Clone::clone);
            return Err(format!("there is no layout of its pairs: {why}"));
        }
        Ok(cloud)
    }

    /// Takes the tokens of its sequences from the file that has those of all clouds.
    pub fn read_texts(&mut self, bytes: &[u8]) {
        let wanted: BTreeSet<u64> = self.pairs.iter().map(|pair| pair.sequence).collect();
        let read = match json_file::of_python_within(bytes, LIMITS) {
            Ok(read) => read,
            Err(error) => return self.notes.push(format!("the tokens of its sequences cannot be read: {error}")),
        };
        let tokens = |of: &Value| of.as_array()?.iter().map(|token| token.as_str().map(str::to_owned)).collect();
        for sequence in wanted {
            let found: Option<Vec<String>> = read.get(sequence.to_string()).and_then(tokens);
            self.texts.extend(found.map(|tokens| (sequence, tokens)));
        }
    }

    /// Principal components first; files of before had one layout beside the pairs.
    fn read_layouts(&mut self, read: &Map<String, Value>) {
        let norms = read.get("norms");
        let name_of = |view: &Value| {
            let number = |name: &str| view.get(name).and_then(Value::as_f64).map(|number| number.to_string());
            let said = [("neighbours", number("n_neighbors")), ("least distance", number("min_dist"))];
            let said: Vec<String> =
                said.into_iter().filter_map(|(name, number)| Some(format!("{name} {}", number?))).collect();
            if said.is_empty() { "UMAP".to_owned() } else { format!("UMAP, {}", said.join(", ")) }
        };
        let views = read.get("views").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let named = [("principal components".to_owned(), read.get("pca"))].into_iter();
        let named = named.chain(views.iter().map(|view| (name_of(view), view.get("embeddings"))));
        let named = named.chain([("UMAP".to_owned(), read.get("embeddings"))]);
        for (name, of) in named.filter_map(|(name, of)| Some((name, of?))).take(MOST_LAYOUTS) {
            let (panels, refused) = panels(of, norms, self.pairs.len());
            self.notes.extend(refused.into_iter().map(|why| format!("of its {name} {why}")));
            if !panels.is_empty() {
                self.layouts.push(CloudLayout { name, panels });
            }
        }
    }

    fn read_clusters(&mut self, of: Option<&Value>) {
        let listed = of.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (nth, cluster) in listed.iter().take(MOST_CLUSTERS).enumerate() {
            let name = cluster.get("name").and_then(Value::as_str).map(told);
            let name = name.map_or_else(|| format!("cluster {}", nth + 1), |name| name.chars().take(200).collect());
            let points = cluster.get("points").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let pair = |value: &Value| {
                let number = |at: usize| value.get(at).and_then(whole);
                Some((number(0)?, number(1)?, number(2)?))
            };
            let wanted: Vec<_> = points.iter().take(MOST_PAIRS).filter_map(pair).collect();
            let is_in = |at: &usize| {
                let CloudPair { sequence, query, key } = self.pairs[*at];
                wanted.contains(&(sequence, u64::from(query), u64::from(key)))
            };
            let pairs: Vec<usize> =
                if wanted.is_empty() { Vec::new() } else { (0..self.pairs.len()).filter(is_in).collect() };
            if pairs.is_empty() {
                self.notes.push(format!("the cluster {name} has none of its pairs"));
            } else {
                self.clusters.push(CloudCluster { name, pairs });
            }
        }
    }

    /// Lays out vectors by principal components, those of each kind by themselves: rows of the same width by pair.
    pub fn of_vectors(pairs: Vec<CloudPair>, vectors: &[(usize, Vec<Vec<f32>>)]) -> Option<Self> {
        let panel = |(kind, rows): &(usize, Vec<Vec<f32>>)| {
            let width = rows.first()?.len();
            let flat: Vec<f32> = rows.iter().flatten().copied().collect();
            let points = Points::new(&flat, rows.len(), width).ok()?;
            let layout = Pca::fit(points, 3).ok()?.layout(points);
            let norm = |row: &Vec<f32>| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32;
            let points = layout.as_chunks::<3>().0.to_vec();
            Some(CloudPanel { kind: *kind, points, norms: Some(rows.iter().map(norm).collect()) })
        };
        let panels = vectors.iter().map(panel).collect::<Option<_>>()?;
        let layout = CloudLayout { name: "principal components".to_owned(), panels };
        Some(Self { pairs, layouts: vec![layout], ..Self::default() })
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// When JSON cannot be written.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let numbers = |values: &mut dyn Iterator<Item = f32>| -> Value {
            values.map(|value| Value::from(rounded(f64::from(value)))).collect()
        };
        let (mut pca, mut norms) = (Map::new(), Map::new());
        for panel in self.layouts.first().map_or(&[][..], |layout| &layout.panels) {
            let axis = |at: usize| numbers(&mut panel.points.iter().map(|point| point[at]));
            let name = PANELS[panel.kind].0.to_owned();
            pca.insert(name.clone(), json!({ "d0": axis(0), "d1": axis(1), "d2": axis(2) }));
            if let Some(of) = &panel.norms {
                norms.insert(name, numbers(&mut of.iter().copied()));
            }
        }
        serde_json::to_vec(&json!({
            "seq_idx": self.pairs.iter().map(|pair| pair.sequence).collect::<Vec<_>>(),
            "top_q": self.pairs.iter().map(|pair| pair.query).collect::<Vec<_>>(),
            "top_k": self.pairs.iter().map(|pair| pair.key).collect::<Vec<_>>(),
            "norms": norms,
            "pca": pca,
            "views": [],
            "clusters": [],
            "projected_points": [],
        }))
    }

    /// Such as `1,000 pairs`.
    pub fn pairs_text(&self) -> String {
        counted(self.pairs.len(), "pair")
    }
}

/// The panels of a layout that have a point for each pair, and why others are none.
fn panels(of: &Value, norms: Option<&Value>, n: usize) -> (Vec<CloudPanel>, Vec<String>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let all = of.as_object().map(|of| of.iter().take(100).collect::<Vec<_>>()).unwrap_or_default();
    for (name, of) in all {
        let Some(kind) = PANELS.iter().position(|(known, _)| known.eq_ignore_ascii_case(name)) else {
            refused.push(format!("the part {} is none of O, Q, K, V and R", told(name)));
            continue;
        };
        let axis = |names: [&str; 2]| names.into_iter().find_map(|name| numbers(of.get(name)?));
        let Some((x, y)) = axis(["d0", "x"]).zip(axis(["d1", "y"])) else {
            refused.push(format!("the part {name} has no two lists of finite numbers"));
            continue;
        };
        if x.len() != n || y.len() != n {
            refused.push(format!("the part {name} has {} and {} numbers for {n} pairs", x.len(), y.len()));
            continue;
        }
        let z = axis(["d2", "z"]).filter(|z| z.len() == n).unwrap_or_else(|| vec![0.0; n]);
        // By panel, or one list for all of them.
        let norms = norms.and_then(|norms| numbers(norms.get(name).unwrap_or(norms))).filter(|norms| norms.len() == n);
        found.push(CloudPanel {
            kind,
            points: x.into_iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]).collect(),
            norms,
        });
    }
    found.sort_by_key(|panel| panel.kind);
    found.dedup_by_key(|panel| panel.kind);
    (found, refused)
}

fn numbers(of: &Value) -> Option<Vec<f32>> {
    let number = |value: &Value| value.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
    of.as_array()?.iter().map(number).collect()
}

/// A whole number, also where Python wrote it as 5.0.
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    value.as_u64().or_else(|| float().map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clouds_are_written_and_read_and_broken_parts_named() {
        let pair = |sequence, query, key| CloudPair { sequence, query, key };
        let pairs = vec![pair(3, 2, 1), pair(3, 4, 0), pair(9, 1, 1)];
        let rows = vec![vec![1.0, 0.0], vec![0.0, 2.0], vec![-1.0, 0.5]];
        let cloud = HeadCloud::of_vectors(pairs.clone(), &[(0, rows.clone()), (1, rows)]).unwrap();
        assert_eq!(cloud.layouts[0].panels[1].ranks(), Some(vec![0.0, 1.0, 0.5]), "lengths 1, 2 and √1.25");
        let again = HeadCloud::from_json(&cloud.to_json().unwrap()).unwrap();
        assert_eq!((&again.pairs, again.layouts[0].panels.len(), again.notes.len()), (&pairs, 2, 0));
        for (a, b) in again.layouts[0].panels[0].points.iter().zip(&cloud.layouts[0].panels[0].points) {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4), "{a:?} {b:?}");
        }
        let read = |text: &str| HeadCloud::from_json(text.as_bytes());
        let before = r#"{"seq_idx":[1,2],"top_q":[3,4.0],"top_k":[0,1],"embeddings":{"Q":{"x":[0,1],"y":[2,3]}},
            "clusters":[{"name":"names","points":[[2,4,1]]},{"points":[[7,7,7]]}]}"#;
        let older = read(before).unwrap();
        assert_eq!(older.layouts[0].panels[0].points, [[0.0, 2.0, 0.0], [1.0, 3.0, 0.0]]);
        assert_eq!(older.clusters, [CloudCluster { name: "names".to_owned(), pairs: vec![1] }]);
        assert_eq!(older.notes, ["the cluster cluster 2 has none of its pairs"]);
        for (wrong, why) in [
            ("[]", "no object"),
            (r#"{"seq_idx":[1],"top_q":[1]}"#, "no top_k"),
            (r#"{"seq_idx":[1],"top_q":[1,2],"top_k":[0]}"#, "different lengths: 1, 2, 1"),
            (r#"{"seq_idx":[1],"top_q":[-1],"top_k":[0]}"#, "no whole number"),
            (
                r#"{"seq_idx":[1],"top_q":[1],"top_k":[0],"pca":{"Q":{"d0":[1,2],"d1":[1]}}}"#,
                "2 and 1 numbers for 1 pair",
            ),
            (r#"{"seq_idx":[1],"top_q":[1],"top_k":[0],"pca":{"X":{"d0":[1],"d1":[1]}}}"#, "the part X"),
        ] {
            let said = read(wrong).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
