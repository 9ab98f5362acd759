//! Lays out clouds of points and says how long it took: one side of `projection.py`, which runs the other.
//!
//! ```text
//! cargo bench --bench projection -- METHOD FILE N WIDTH HEADS THREADS [FOLDER]
//! ```
//!
//! METHOD is pca, neighbors, tsne, umap or measure; FILE holds f32 of shape [heads, N, WIDTH]; HEADS is a list such
//! as 0,3,7; with a minus in front of THREADS the heads run side by side, else one after the other with all threads
//! inside. Layouts are written to FOLDER, or read from it to be measured. Prints one line of JSON.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that cannot set itself up should stop")]

use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::Instant,
};

use attnscope::projection::{
    Affinities, Metric, Neighbors, Pca, Points, quality, to_the_end,
    tsne::{Tsne, TsneOptions},
    umap::{Umap, UmapOptions},
};
use rayon::prelude::*;
use serde_json::{Value, json};

/// What is asked of every layout: as many neighbours as the peers' papers use.
const RECALLED: usize = 10;
const TRUSTED: usize = 12;

struct Cloud {
    head: usize,
    values: Vec<f32>,
    n: usize,
    width: usize,
}

impl Cloud {
    fn points(&self) -> Points<'_> {
        Points::new(&self.values, self.n, self.width).unwrap()
    }
}

fn main() {
    // Cargo adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [method, file, n, width, heads, threads, folder @ ..] = &arguments[..] else {
        println!("METHOD FILE N WIDTH HEADS THREADS [FOLDER]: benches/projection.py gives them");
        return;
    };
    let (n, width): (usize, usize) = (n.parse().unwrap(), width.parse().unwrap());
    let clouds: Vec<Cloud> = heads
        .split(',')
        .map(|head| head.parse().unwrap())
        .map(|head| Cloud { head, values: read(Path::new(file), head * n * width, n * width), n, width })
        .collect();
    let (side_by_side, threads) = threads.strip_prefix('-').map_or((false, &threads[..]), |threads| (true, threads));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse().unwrap()).build().unwrap();
    let folder = folder.first().map(PathBuf::from);
    let answer = pool.install(|| {
        if method == "measure" {
            return json!(clouds.iter().map(|cloud| measure(cloud, folder.as_deref().unwrap())).collect::<Vec<_>>());
        }
        let (clock, processor) = (Instant::now(), processor_seconds());
        let run = |cloud: &Cloud| run(method, cloud);
        let done: Vec<(Vec<f32>, f64)> =
            if side_by_side { clouds.par_iter().map(run).collect() } else { clouds.iter().map(run).collect() };
        let (wall, processor) = (clock.elapsed().as_secs_f64(), processor_seconds() - processor);
        if let Some(folder) = &folder {
            for (cloud, (layout, _)) in clouds.iter().zip(&done) {
                let bytes: Vec<u8> = layout.iter().flat_map(|x| x.to_le_bytes()).collect();
                fs::write(folder.join(format!("{}.f32", cloud.head)), bytes).unwrap();
            }
        }
        json!({ "wall": wall, "cpu": processor, "neighbors": done.iter().map(|head| head.1).sum::<f64>() })
    });
    println!("{answer}");
}

/// The layout of one head, and the seconds that its neighbours took.
fn run(method: &str, cloud: &Cloud) -> (Vec<f32>, f64) {
    let (points, start) = (cloud.points(), Instant::now());
    let seconds = |k: usize| {
        let neighbors = Neighbors::find(points, k, Metric::Euclidean, &to_the_end).unwrap();
        (neighbors, start.elapsed().as_secs_f64())
    };
    let pca = || Pca::fit(points, 2).unwrap().layout(points);
    match method {
        "pca" => (pca(), 0.0),
        "neighbors" => (Vec::new(), seconds(90).1),
        "tsne" => {
            let options = TsneOptions::default();
            let (neighbors, seconds) = seconds(options.neighbors_of(cloud.n));
            let mut tsne = Tsne::from_neighbors(&neighbors, &pca(), options).unwrap();
            while !tsne.finished() {
                tsne.step();
            }
            (tsne.layout().to_vec(), seconds)
        }
        _ => {
            let options = UmapOptions::default();
            let (neighbors, seconds) = seconds(options.neighbors_of(cloud.n));
            let mut umap = Umap::from_neighbors(&neighbors, &pca(), &options).unwrap();
            while !umap.finished() {
                umap.step();
            }
            (umap.layout().to_vec(), seconds)
        }
    }
}

/// Divergence from exact affinities of perplexity 30, and what is kept of neighbours.
fn measure(cloud: &Cloud, folder: &Path) -> Value {
    let layout = read(&folder.join(format!("{}.f32", cloud.head)), 0, cloud.n * 2);
    let (points, layout) = (cloud.points(), Points::new(&layout, cloud.n, 2).unwrap());
    let perplexity = TsneOptions::default().perplexity_for(cloud.n);
    let k = TsneOptions::default().neighbors_of(cloud.n);
    let affinities = Affinities::of(&Neighbors::find(points, k, Metric::Euclidean, &to_the_end).unwrap(), perplexity);
    json!({
        "head": cloud.head,
        "kl": quality::divergence(&affinities, layout).unwrap(),
        "recall": quality::recall(points, layout, RECALLED, &to_the_end).unwrap(),
        "trust": quality::trustworthiness(points, layout, TRUSTED, &to_the_end).unwrap(),
    })
}

/// `len` values of a file of f32, from `start` on.
fn read(path: &Path, start: usize, len: usize) -> Vec<f32> {
    let mut file = File::open(path).unwrap();
    file.seek(SeekFrom::Start(start as u64 * 4)).unwrap();
    let mut bytes = vec![0; len * 4];
    file.read_exact(&mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Seconds of processor time of all threads so far; 0 where the system does not say.
fn processor_seconds() -> f64 {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() * 1e-9
}
