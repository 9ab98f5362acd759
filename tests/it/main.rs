//! The one integration-test binary: one module per feature.

#![expect(clippy::unwrap_used, reason = "what a test takes for granted and does not get is its failure")]

/// Adapters of PEFT, merged into their models.
mod adapters;
/// Attention of many inputs added up; colours, filters and patches of a cloud.
mod aggregate;
/// Tooltip, cells and inspector: one number for one thing, however it is read.
mod agreement;
/// Every head between numbers over many inputs.
mod atlas;
mod atlas_contrast;
/// Capture files: round trips, other programs' files, hostile ones.
mod average;
/// Beam search.
mod beams;
/// Attention and a state space side by side in a layer.
mod beside;
/// Texts longer than the model was made for.
mod beyond;
/// Attention of numbers that were typed.
mod by_hand;
mod capture_file;
/// Charts with axes in the window.
mod charts;
/// Chat templates, as transformers renders them, and hostile ones.
mod chat;
/// The program without a window: files, exit codes, messages.
mod cli;
/// Panes side by side, and differences, in the window.
mod compare;
/// Contacts between residues, against transformers.
mod contacts;
/// Numbers on the clipboard.
mod copy;
/// Lists of inputs from files, and queries and keys of many inputs by column.
mod corpus;
/// What is kept of a corpus on disk: killed jobs, damage, keys.
mod corpus_disk;
/// Corpora from files, run by a model, in the program and on the command line.
mod corpus_runs;
/// A corpus behind the window: first results, giving way, stopping, what is refused.
mod corpus_worker;
/// What attention costs by length, and approximations of a head's pattern.
mod cost;
/// The debate over a data set: its numbers, its command, a state that is gone on from.
mod debate;
/// The debate over the corpus that is open: what is measured anew, the view, sessions, figures.
mod debate_view;
/// The model as boxes.
mod diagram;
/// Linear probes, and features of sparse autoencoders.
mod dictionaries;
/// Changes from other runs, drawn weights, deleted tokens, and what is marked of changes.
mod directions;
mod donors;
/// The download dialog: its states, and what a person can do with it.
mod download;
/// Changes of the forward pass, and gradients of the patterns.
mod edits;
/// Every kind of change in every kind of network against PyTorch.
mod edits_torch;
/// What explains an output, on matrices alone.
/// The table of token embeddings: neighbours, sums, planes.
mod embeddings;
mod experts;
mod explain;
/// Pictures and other files out.
mod export;
mod families;
mod features;
/// Figures as files: SVG, PDF and PNG of one display list.
mod figure;
/// A figure's metadata say everything that made it.
mod figure_record;
/// Arrows from patch to patch on a picture.
mod flows;
/// Fields that have the cursor when they appear.
mod focus;
/// Attention of other programs: documented snippets, lists, arrays, and hostile ones.
mod foreign;
/// Arrays of other programs: NumPy files, and hostile ones.
mod foreign_arrays;
mod foreign_tokens;
mod free_rows;
/// Damaged files of every kind, and whoever reads them.
mod fuzz;
/// What fuzzing found, defect by defect.
mod fuzz_found;
/// The examples: what each claims, measured on its bundled model.
mod gallery;
/// The examples that change a run or ask the laboratory.
mod gallery_measures;
mod gallery_tried;
/// Texts that a model writes: limits, chance, cancelling, files.
mod generation;
/// Models in llama.cpp's format.
mod gguf;
/// Tokenizers of models in GGUF files.
mod gguf_tokenizers;
/// Windows, and tokens that see all.
mod global;
/// Gradients of every site of every family.
mod gradients;
/// One head over many inputs.
mod head_folder;
mod head_folder_read;
mod head_kinds;
mod head_page;
/// Statistics of heads over many inputs.
mod head_statistics;
/// The page of a head in the window.
mod head_view;
/// Broken, lying and absurd checkpoints.
mod hostile_models;
/// Downloads from a server on this machine: what is fetched, resumed, refused, and what is left behind.
mod hub;
/// Layers with a state in place of attention.
mod hybrids;
/// Jacobian lenses: fits, files, and what is read through them.
mod jacobian;
/// Fused operations against candle, forward and backward.
mod judged;
mod kernels;
/// What can be reached without a mouse.
mod keyboard;
/// Every key of `config.json`: read, known to change no number, or refused by name.
mod keys;
/// Questions of the laboratory: laws, PyTorch's numbers, and what is refused.
mod lab;
/// Whether attention can be believed: faithfulness, normalisers, alignment.
mod lab_believe;
/// The laboratory on runs that are changed already, and which output it explains by itself.
mod lab_changed;
/// Causal tracing, knockout and memories.
mod lab_columns;
/// Options of methods: the same names and defaults in the window and on the command line.
mod lab_defaults;
/// Scores taken apart, and two directions of an alignment.
mod lab_edges;
mod lab_facts;
/// Rank-one edits, smallest masks, relevance by propagation.
mod lab_layout;
mod lab_methods;
/// Traces, knockouts, memories, faithfulness, alignment: the numbers of PyTorch, scipy and numpy.
mod lab_patching;
mod lab_torch;
/// The Lab view.
mod lab_view;
/// Rankings of words, names of outcomes, effects of changes, heads by kind.
mod lab_words;
mod lab_writes;
/// Laws that hold for every capture: sums, masks, hiding, edge selection, statistics.
mod laws;
/// Layouts of points: PCA, t-SNE and UMAP, live and the same on any number of threads.
mod layouts;
/// The lecture: its list, and the way through it.
mod lecture;
mod lengths;
/// Keys and values that a later layer reads as well.
mod lent_keys;
/// Quality by length of the source: counts, table, figure.
/// Networks that attend to sentences: hierarchical attention, and memories.
mod levels;
mod line_looks;
/// Patterns too long to be held whole: parts, levels of detail, and what is refused.
mod long_patterns;
/// The joint space, neighbours, and what a layout keeps: numpy's numbers.
mod measures;
/// Memory of a run: the estimate against what a process takes, and what is refused.
mod memory;
/// Messages, and what they go with.
mod messages;
/// Numbers that are typed.
mod numbers;
/// Runs without positions, and with tokens in another order.
mod order;
/// Models that llama.cpp, Ollama and LM Studio keep.
mod other_programs;
/// What a method answered in place of attention.
mod overlays;
/// Keys of other classes, other names, and tables that a configuration ties and the file does not.
mod own_keys;
/// Groups of tokens that a person makes.
mod own_words;
/// Several inputs in one pass.
mod packed;
/// A page for a browser.
mod page;
/// Commands, examples and pictures that `docs/` names.
mod pages;
/// Panes opened, closed, linked and undone: every pair of actions.
mod pane_walk;
/// Panes: splitting, linking, documents.
mod panes;
/// Every recorded site against PyTorch, and the laws between the sites.
mod parity;
mod paths;
/// The shared store of patterns: what is asked when, what stays, and the thread that answers.
mod pattern_store;
/// SentencePiece files.
mod piece_models;
/// Pointer networks: what they attend to is what they write.
mod pointers;
/// How positions enter attention.
mod positions;
/// Pictures to pixel values: the reference's numbers, and hostile files.
mod preprocessing;
/// Image processors' files, held against transformers' own classes.
mod processors;
/// `attnscope project`: its files, the same bytes for a seed, and what it refuses.
mod project_files;
/// The joint query–key space in the plane.
mod projection;
/// What captures say about how they were made, and what recomputing makes of it, in files too.
mod provenance;
/// Weights of few bits.
mod quantized;
/// Agreement of methods with words that people marked.
mod rationales;
/// Recurrent classifiers: one query over the states of a bidirectional LSTM, sparsemax, word gates.
mod readers;
/// What is left out, merged, aggregated and subtracted, against its definition.
mod reading;
/// One pattern minus another, and what cannot be read.
mod reading_difference;
/// Weights by the lengths of the value vectors.
mod reading_values;
/// Folders, configurations and paths of other kinds, and what is said of them.
mod recognised;
/// States of recurrent models step by step: recorded, kept in files, changed, followed back, and shown.
mod recurrences;
/// t-SNE and UMAP of the joint space, step by step.
mod refining;
/// Regions of a picture as keys: read with checks, drawn, pointed at and named.
mod regions;
/// Figures and their numbers from the command line.
mod render;
/// Sinks and incomplete rows.
mod rest;
/// Searches in a joint space, heads ranked by their hits, and distance as a proxy of the dot product.
/// Several texts of one beginning, sampled with one seed after the other, side by side.
mod sampled;
/// Heads of scores and of labels, and the names of classes.
mod scores_and_labels;
mod search;
/// Checkpoints held against an independent implementation.
mod second_opinion;
/// Rows and columns by sentence and by paragraph, and heads that look at few sentences.
mod sentences;
/// Commands and events in, effects and state out.
mod session;
/// Addresses of places: copied, read again, gone to, and refused.
mod session_address;
/// A new session, and what comes back of one: pasted pictures, models behind captures.
mod session_anew;
/// Bookmarks: where they lead, and that they are in the file.
mod session_bookmarks;
/// Corpora in a session: what is listed and taken out, from a point to its input and back.
mod session_corpora;
/// What is kept of windows on disk, by two of them at once, on full disks and after kills.
mod session_disk;
/// Capture files in a session.
mod session_files;
/// Windows that are killed at random moments.
mod session_killed;
/// Session files and addresses on the command line.
mod session_program;
/// Sessions as files: what comes back, models that have moved, hostile files.
mod session_saved;
/// What is remembered between runs.
mod session_settings;
/// Models with several stacks in a session, and models that write.
mod session_stacks;
/// What is shown, of which head and run, and what becomes of it when something else is asked for.
mod shown_runs;
/// What makes scores weights.
mod simplex;
/// Learned sinks, computed and read.
mod sinks;
/// Some queries over all keys.
mod some_queries;
/// Spaces other than that of queries with keys.
mod spaces;
mod spans;
/// Weights of two bytes a number.
mod stored;
mod studies;
/// Made-up captures, a scripted worker and a scripted desktop for other modules.
mod support;
/// What newcomers want to do first.
mod surveys;
/// Relations of a treebank that heads attend along.
mod syntax;
mod tasks;
/// Layers, file sizes and the single copy of gemm: what the architecture promises.
mod text_view;
mod tidy;
/// How far what belongs to one place is known elsewhere.
mod tidy_counts;
mod tidy_look;
/// Text to ids and tokens: the reference's ids, truncation, what is shown.
mod timing;
mod tokenization;
/// Tokenizers against transformers' own classes: which one reads a checkpoint, and every attribute that it reads.
mod tokenizer_classes;
/// Every ordered pair of actions, and whether the window still speaks of one head of one run of one model.
mod truth;
mod twins;
mod two_streams;
/// The window by role and label: what a person can do with it.
mod ui;
/// Corpora in the window: opening, the list, the dialogs.
mod ui_corpora;
mod ui_details;
mod ui_export;
mod ui_first;
mod ui_folder;
mod ui_frame;
/// What a model reads and writes, in the window.
mod ui_grid;
mod ui_inputs;
/// Room, panels and appearance of the window.
mod ui_layout;
/// Texts whose patterns are too long to be held whole, in the window.
mod ui_long;
/// Opening things in the window.
mod ui_opening;
/// Everything by its name, with the keys alone.
mod ui_palette;
/// Opening and saving by path.
mod ui_paths;
/// Sessions in the window: saving, opening, recovering, bookmarks.
mod ui_sessions;
mod ui_sizes;
/// Texts of more tokens than the model takes, in the window.
mod ui_too_long;
/// What-if in the window, by role and label.
mod ui_what_if;
/// Many changed runs at once, runs that go on from a layer, and what the head reads from other streams.
mod variants;
/// What views say of themselves.
mod view_specs;
/// The views: hover, click, options and empty states, without a window.
mod views;
mod views_distance;
/// The views of pictures and planes.
mod views_planes;
/// Vision models: grids, names, prefix tokens, two towers, refusals.
mod vision;
mod vocabularies;
/// Every operation in every way to compute it, against double precision.
mod ways;
/// Containers, prefixes, quantised and hostile weights, and memory.
mod weights;
/// Weights that are refused: other kinds of files, damage, what does not fit.
mod weights_refused;
/// What-if: changes of a run in the session.
mod what_if;
/// One weight step by step.
mod why;
/// The background thread: newest wins, cancelling, panics, shutting down.
mod worker;
/// The worker with the real engine.
mod worker_models;
/// How a text was written, step by step.
mod writing;

/// Counts only while the fuzzer reads it, in processes of its own.
#[global_allocator]
static ALLOCATOR: support::fuzz::memory::Counting = support::fuzz::memory::Counting;
