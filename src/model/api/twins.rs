//! Twins of a recurrent classifier that are trained here, on the texts that are at hand: with its words and attention
//! of their own (Wiegreffe and Pinter 2019), or words alone with attention that is given.

mod measures;

use candle_core::{Device, Result as CandleResult, Tensor, Var};
use candle_nn::{
    AdamW, Optimizer, ParamsAdamW,
    ops::{log_softmax, softmax},
};

use super::Model;
use crate::{
    model::{
        ModelError,
        engine::Engine,
        input::{Encoded, Payload},
        kernels::Linear,
        network::{Body, sequential::ReaderMaps},
        run::{Control, Progress, Stage},
    },
    random::SplitMix,
};

/// Added to scores of what is no token of a text: their weights are exactly 0 in single precision.
const FAR_BELOW: f64 = 1e4;
/// The least weight of which a logarithm is taken.
const LEAST_WEIGHT: f32 = 1e-10;
/// Decay of weights.
const WEIGHT_DECAY: f64 = 1e-5;
/// Of a guided model, which has few texts for its many weights.
const GUIDED_DECAY: f64 = 1e-2;

pub use measures::TwinMeasures;

/// What a twin says of a text, and how it attends to its tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinOutput {
    /// Probabilities of the classes.
    pub p: Vec<f32>,
    /// Weights of the tokens.
    pub attention: Vec<f32>,
}

/// A twin that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedTwin {
    /// What it says of every text.
    pub outputs: Vec<TwinOutput>,
    /// Mean loss of each epoch, while it was trained.
    pub losses: Vec<f32>,
}

/// How a twin is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwinPlan {
    /// Whether every token has the same weight, and attention is not learnt.
    pub is_uniform: bool,
    /// λ: the loss is TVD(ŷ, ŷ of the model) − λ · KL(α‖α of the model), in the mean over texts.
    pub lambda: f64,
    /// Weight in the loss of the conicity of a text's states, in the mean over texts (Mohankumar et al. 2020).
    pub conicity: f64,
    pub schedule: Schedule,
}

/// How long, and from which random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    pub n_epochs: usize,
    pub batch: usize,
    pub learning_rate: f64,
    /// Share of the steps, the last ones, over which the learning rate falls to 0.
    pub cooling: f64,
    pub seed: u64,
}

/// Whose attention weighs the words of a model without recurrence.
#[derive(Clone, Copy, Debug)]
pub enum Guide<'a> {
    /// Weights of each text's tokens.
    Given(&'a [Vec<f32>]),
    /// Its own, which it learns.
    Own,
}

/// The weights of a classifier: LSTMs of both directions, attention and output.
#[derive(Clone, Debug)]
struct TwinMaps {
    /// Of word and state beside each other, `[2, d_word + d_half, 4 · d_half]`: input, forget, new, output.
    lstm: Tensor,
    /// `[2, 1, 4 · d_half]`.
    lstm_bias: Tensor,
    attention: Scorer,
    /// `[2 · d_half, n_classes]`, `[n_classes]`.
    output: [Tensor; 2],
}

/// Additive attention with a learnt query: `query · tanh(key(h))`.
#[derive(Clone, Debug)]
struct Scorer {
    /// `[width, d_key]`, `[d_key]`.
    key: [Tensor; 2],
    /// `[d_key, 1]`.
    query: Tensor,
}

/// Texts that are read together.
struct TwinBatch {
    /// Their places.
    at: Vec<usize>,
    /// Embeddings, `[batch, longest, d_word]`.
    words: Tensor,
    /// 1 where a text has a token, `[batch, longest]`.
    real: Tensor,
    longest: usize,
}

/// A classifier with the texts that its twins are trained on.
#[derive(Debug)]
pub struct Twins {
    engine: Engine,
    device: Device,
    maps: TwinMaps,
    /// Embeddings of the tokens of each text, one after the other.
    words: Vec<Vec<f32>>,
    d_word: usize,
    n_classes: usize,
    base: Vec<TwinOutput>,
}

impl Model {
    /// Whether twins of it can be trained here.
    ///
    /// # Errors
    /// The reason why not, as a sentence.
    pub fn check_twins(&self) -> Result<(), String> {
        self.reader_maps().map(|_| ()).ok_or_else(|| {
            "twins are trained of classifiers with one softmax attention over the states of an LSTM that reads in both \
             directions, such as demo:bilstm; this model is none"
                .to_owned()
        })
    }

    fn reader_maps(&self) -> Option<(ReaderMaps<'_>, &Linear)> {
        let Body::Reader(reader) = &self.network.body else { return None };
        let head = self.network.head.as_ref().filter(|head| head.transform.is_none() && head.softcap.is_none())?;
        Some((reader.maps()?, &head.output))
    }

    /// Makes ready for training twins that read these texts.
    ///
    /// # Errors
    /// When it is no such classifier ([`Self::check_twins`]), or a text is none.
    pub fn twins(&self, texts: &[Encoded]) -> Result<Twins, ModelError> {
        let (reader, output) =
            self.reader_maps().ok_or_else(|| ModelError::internal("twins of this model are not trained"))?;
        self.engine.install(|| {
            let of_text = |text: &Encoded| match &text.source {
                Payload::Text { ids, .. } => Ok(reader.words.select(ids)?.flatten_all()?.to_vec1()?),
                Payload::Image { .. } => Err(ModelError::internal("twins read texts")),
            };
            let words = texts.iter().map(of_text).collect::<Result<Vec<Vec<f32>>, ModelError>>()?;
            let bias = |map: &Linear| match &map.bias {
                Some(bias) => Ok(bias.clone()),
                None => Tensor::zeros(map.dims()?.1, candle_core::DType::F32, map.device()),
            };
            let lstms = reader.lstms.map(|(input, state)| {
                let weights = Tensor::cat(&[input.matrix()?, state.matrix()?], 0)?;
                Ok::<_, candle_core::Error>((weights, (bias(input)? + bias(state)?)?.unsqueeze(0)?))
            });
            let [ahead, back] = lstms;
            let (ahead, back) = (ahead?, back?);
            let maps = TwinMaps {
                lstm: Tensor::stack(&[ahead.0, back.0], 0)?,
                lstm_bias: Tensor::stack(&[ahead.1, back.1], 0)?,
                attention: Scorer {
                    key: [reader.key.matrix()?.contiguous()?, bias(reader.key)?],
                    query: reader.query.matrix()?.contiguous()?,
                },
                output: [output.matrix()?.contiguous()?, bias(output)?],
            };
            let d_word = reader.lstms[0].0.dims()?.0;
            let (device, n_classes) = (maps.lstm.device().clone(), output.dims()?.1);
            let engine = self.engine.clone();
            let mut twins = Twins { engine, device, maps, words, d_word, n_classes, base: Vec::new() };
            twins.base = twins.outputs(&twins.maps, false)?;
            Ok(twins)
        })
    }
}

impl Twins {
    /// What the model itself says of each text.
    pub fn base(&self) -> &[TwinOutput] {
        &self.base
    }

    /// Trains a twin on some of the texts and has it read all of them. Its LSTMs and its output begin as those of the
    /// model and its attention by chance; the words stay as they are. The same plan gives the same twin.
    ///
    /// # Errors
    /// When somebody says stop, or what is learnt is no longer finite.
    pub fn trained(&self, texts: &[usize], plan: TwinPlan, control: &Control<'_>) -> Result<TrainedTwin, ModelError> {
        self.engine.install(|| {
            let (maps, losses) = self.train(texts, plan, control)?;
            Ok(TrainedTwin { outputs: self.outputs(&maps, plan.is_uniform)?, losses })
        })
    }

    /// The weights of such a twin, and the mean loss of each epoch.
    fn train(
        &self,
        texts: &[usize],
        TwinPlan { is_uniform, lambda, conicity, schedule }: TwinPlan,
        control: &Control<'_>,
    ) -> Result<(TwinMaps, Vec<f32>), ModelError> {
        let mut random = SplitMix::new(schedule.seed);
        let kept = |tensor: &Tensor| Var::from_tensor(&tensor.copy()?);
        let [width, d_key] = self.maps.attention.key[0].dims2().map(<[usize; 2]>::from)?;
        let (scorer, mut vars) = Scorer::random([width, d_key], &mut random, &self.device)?;
        let own = [&self.maps.lstm, &self.maps.lstm_bias, &self.maps.output[0], &self.maps.output[1]].map(kept);
        let [lstm, lstm_bias, output, output_bias] = own;
        let own = [lstm?, lstm_bias?, output?, output_bias?];
        let [lstm, lstm_bias, output, output_bias] = own.each_ref().map(|var| var.as_tensor().clone());
        vars.extend(own);
        let maps = TwinMaps { lstm, lstm_bias, attention: scorer, output: [output, output_bias] };
        let batches = self.batches(texts, schedule.batch)?;
        let goals = batches.iter().map(|batch| self.goal(batch)).collect::<CandleResult<Vec<_>>>()?;
        let losses = descend(vars, schedule, WEIGHT_DECAY, batches.len(), control, &mut random, &mut |nth| {
            let (batch, (p, log_attention)) = (&batches[nth], &goals[nth]);
            let read = maps.read(batch, is_uniform)?;
            let mut loss = ((read.p - p)?.abs()?.sum(1)? * 0.5)?.mean_all()?;
            if lambda != 0.0 && !is_uniform {
                let far = (&read.attention * (read.log_attention - log_attention)?)?.sum(1)?.mean_all()?;
                loss = (loss - (far * lambda)?)?;
            }
            if conicity != 0.0 {
                let alike = measures::conicity(&read.states, &batch.real)?.mean_all()?;
                loss = (loss + (alike * conicity)?)?;
            }
            Ok(loss)
        })?;
        Ok((maps, losses))
    }

    /// Trains a model without recurrence, `out(Σ α_i tanh(W e_i + b))`, on the classes of some texts with weights of a
    /// guide, and says which class it finds most probable for others.
    ///
    /// # Errors
    /// As [`Self::trained`].
    pub fn guided(
        &self,
        guide: Guide<'_>,
        classes: &[Option<usize>],
        (train, test): (&[usize], &[usize]),
        schedule: Schedule,
        control: &Control<'_>,
    ) -> Result<Vec<usize>, ModelError> {
        self.engine.install(|| {
            let mut random = SplitMix::new(schedule.seed);
            let width = self.maps.output[0].dim(0)?;
            let hidden = Layer::random([self.d_word, width], &mut random, &self.device)?;
            let output = Layer::random([width, self.n_classes], &mut random, &self.device)?;
            let mut vars: Vec<Var> = [hidden.vars(), output.vars()].concat();
            let scorer = match guide {
                Guide::Given(_) => None,
                Guide::Own => {
                    let (scorer, own) = Scorer::random([width, width / 2], &mut random, &self.device)?;
                    vars.extend(own);
                    Some(scorer)
                }
            };
            let logits = |batch: &TwinBatch| {
                let states = hidden.of(&batch.words)?.tanh()?;
                let attention = match (guide, &scorer) {
                    (Guide::Given(rows), _) => padded(batch, &self.device, |text, token| rows[text][token])?,
                    (Guide::Own, Some(scorer)) => softmax(&scorer.scores(&states, &batch.real)?, 1)?,
                    (Guide::Own, None) => candle_core::bail!("a guide of its own has no scorer"),
                };
                output.of(&attention.unsqueeze(1)?.matmul(&states)?.squeeze(1)?)
            };
            let known: Vec<usize> = train.iter().copied().filter(|text| classes[*text].is_some()).collect();
            let batches = self.batches(&known, schedule.batch)?;
            let goals = batches.iter().map(|batch| {
                let is_class = |text: usize| {
                    (0..self.n_classes).map(move |class| if classes[text] == Some(class) { 1.0f32 } else { 0.0 })
                };
                let rows = batch.at.iter().flat_map(|text| is_class(*text));
                Tensor::from_iter(rows, &self.device)?.reshape((batch.at.len(), self.n_classes))
            });
            let goals = goals.collect::<CandleResult<Vec<Tensor>>>()?;
            descend(vars, schedule, GUIDED_DECAY, batches.len(), control, &mut random, &mut |nth| {
                (log_softmax(&logits(&batches[nth])?, 1)? * &goals[nth])?.sum(1)?.mean_all()?.neg()
            })?;
            let mut found = vec![0; test.len()];
            let place: std::collections::BTreeMap<usize, usize> =
                test.iter().enumerate().map(|(nth, text)| (*text, nth)).collect();
            for batch in self.batches(test, schedule.batch)? {
                for (text, row) in batch.at.iter().zip(logits(&batch)?.to_vec2::<f32>()?) {
                    let best =
                        row.iter().enumerate().fold(0, |best, (id, logit)| if *logit > row[best] { id } else { best });
                    found[place[text]] = best;
                }
            }
            Ok(found)
        })
    }

    /// Texts of like length together, so that little is filled up.
    fn batches(&self, texts: &[usize], size: usize) -> CandleResult<Vec<TwinBatch>> {
        let n_tokens = |text: usize| self.words[text].len() / self.d_word;
        let mut order = texts.to_vec();
        order.sort_by_key(|text| (n_tokens(*text), *text));
        let batch = |at: &[usize]| {
            let longest = at.iter().map(|text| n_tokens(*text)).max().unwrap_or(0);
            let (mut words, mut real) = (Vec::new(), Vec::new());
            for text in at {
                let n = n_tokens(*text);
                words.extend_from_slice(&self.words[*text]);
                words.resize(words.len() + (longest - n) * self.d_word, 0.0);
                real.extend((0..longest).map(|token| if token < n { 1.0f32 } else { 0.0 }));
            }
            Ok(TwinBatch {
                words: Tensor::from_vec(words, (at.len(), longest, self.d_word), &self.device)?,
                real: Tensor::from_vec(real, (at.len(), longest), &self.device)?,
                at: at.to_vec(),
                longest,
            })
        };
        order.chunks(size.max(1)).map(batch).collect()
    }

    /// Probabilities and logarithms of the weights of the model itself.
    fn goal(&self, batch: &TwinBatch) -> CandleResult<(Tensor, Tensor)> {
        let rows = batch.at.iter().flat_map(|text| self.base[*text].p.iter().copied());
        let p = Tensor::from_iter(rows, &self.device)?.reshape((batch.at.len(), self.n_classes))?;
        let log = |text: usize, token: usize| self.base[text].attention[token].max(LEAST_WEIGHT).ln();
        Ok((p, padded(batch, &self.device, log)?))
    }

    /// What maps say of every text.
    fn outputs(&self, maps: &TwinMaps, is_uniform: bool) -> Result<Vec<TwinOutput>, ModelError> {
        const TOGETHER: usize = 64;
        let all: Vec<usize> = (0..self.words.len()).collect();
        let mut found = vec![TwinOutput { p: Vec::new(), attention: Vec::new() }; all.len()];
        for batch in self.batches(&all, TOGETHER)? {
            let read = maps.read(&batch, is_uniform)?;
            let rows = read.p.to_vec2::<f32>()?.into_iter().zip(read.attention.to_vec2::<f32>()?);
            for (text, (p, mut attention)) in batch.at.iter().zip(rows) {
                attention.truncate(self.words[*text].len() / self.d_word);
                if p.iter().chain(&attention).any(|value| !value.is_finite()) {
                    return Err(ModelError::NotFinite { what: "output of a trained twin".to_owned() });
                }
                found[*text] = TwinOutput { p, attention };
            }
        }
        Ok(found)
    }
}

/// Follows the gradient of a loss of batches, which come in another order in each epoch; the mean loss of each epoch.
fn descend(
    vars: Vec<Var>,
    schedule: Schedule,
    weight_decay: f64,
    n_batches: usize,
    control: &Control<'_>,
    random: &mut SplitMix,
    loss: &mut dyn FnMut(usize) -> CandleResult<Tensor>,
) -> Result<Vec<f32>, ModelError> {
    let how = ParamsAdamW { lr: schedule.learning_rate, weight_decay, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(vars, how)?;
    let mut order: Vec<usize> = (0..n_batches).collect();
    let total = n_batches * schedule.n_epochs;
    let cooling = (schedule.cooling * total as f64).max(1.0);
    let (mut done, mut losses) = (0, Vec::with_capacity(schedule.n_epochs));
    for _ in 0..schedule.n_epochs {
        random.shuffle(&mut order);
        let mut sum = 0.0;
        for nth in &order {
            control(Progress { stage: Stage::Training, done, total })?;
            let loss = loss(*nth)?;
            let value = loss.to_scalar::<f32>()?;
            if !value.is_finite() {
                return Err(ModelError::NotFinite { what: "loss while a twin is trained".to_owned() });
            }
            optimizer.set_learning_rate(schedule.learning_rate * ((total - done) as f64 / cooling).min(1.0));
            optimizer.step(&loss.backward()?)?;
            sum += f64::from(value);
            done += 1;
        }
        losses.push((sum / n_batches.max(1) as f64) as f32);
    }
    Ok(losses)
}

/// What is read of a batch.
struct TwinReading {
    /// `[batch, longest, 2 · d_half]`, 0 beyond the end of a text.
    states: Tensor,
    /// `[batch, n_classes]`.
    p: Tensor,
    /// `[batch, longest]`, 0 beyond the end of a text.
    attention: Tensor,
    log_attention: Tensor,
}

impl TwinMaps {
    fn read(&self, batch: &TwinBatch, is_uniform: bool) -> CandleResult<TwinReading> {
        let states = self.states(batch)?;
        let (attention, log_attention) = if is_uniform {
            let even = batch.real.broadcast_div(&batch.real.sum_keepdim(1)?)?;
            (even.clone(), even)
        } else {
            let scores = self.attention.scores(&states, &batch.real)?;
            (softmax(&scores, 1)?, log_softmax(&scores, 1)?)
        };
        let p = self.probabilities(&attention, &states)?;
        Ok(TwinReading { states, p, attention, log_attention })
    }

    /// What these weights make of these states, `[batch, n_classes]`.
    fn probabilities(&self, attention: &Tensor, states: &Tensor) -> CandleResult<Tensor> {
        let context = attention.unsqueeze(1)?.matmul(states)?.squeeze(1)?;
        let [weight, bias] = &self.output;
        softmax(&context.matmul(weight)?.broadcast_add(bias)?, 1)
    }

    /// States of both directions side by side, `[batch, longest, 2 · d_half]`. Nothing is carried from beyond a text.
    fn states(&self, batch: &TwinBatch) -> CandleResult<Tensor> {
        let (n, longest) = (batch.at.len(), batch.longest);
        let d_half = self.lstm.dim(2)? / 4;
        let device = self.lstm.device();
        let turned = Tensor::from_iter((0..longest as u32).rev(), device)?;
        // By step, direction and text: the backward direction begins at the longest text's end.
        let both = |of: &Tensor| {
            let of = of.transpose(0, 1)?.contiguous()?;
            Tensor::stack(&[&of, &of.index_select(&turned, 0)?], 1)
        };
        let words = both(&batch.words)?;
        let real = both(&batch.real.unsqueeze(2)?)?;
        // σ(x) = ½ + ½ tanh(x/2): one function for all gates.
        let by_gate = |values: [f32; 4]| {
            Tensor::from_iter(values.into_iter().flat_map(|value| std::iter::repeat_n(value, d_half)), device)
        };
        let (scale, offset) = (by_gate([0.5, 0.5, 1.0, 0.5])?, by_gate([0.5, 0.5, 0.0, 0.5])?);
        let mut state = Tensor::zeros((2, n, d_half), words.dtype(), device)?;
        let mut cell = state.clone();
        let mut states = Vec::with_capacity(longest);
        for step in 0..longest {
            let input = Tensor::cat(&[&words.get(step)?, &state], 2)?;
            let gates = input.matmul(&self.lstm)?.broadcast_add(&self.lstm_bias)?;
            let gates = gates.broadcast_mul(&scale)?.tanh()?.broadcast_mul(&scale)?.broadcast_add(&offset)?;
            let part = |idx: usize| gates.narrow(2, idx * d_half, d_half);
            cell = ((part(1)? * &cell)? + (part(0)? * part(2)?)?)?;
            state = (part(3)? * cell.tanh()?)?;
            let real = real.get(step)?;
            (state, cell) = (state.broadcast_mul(&real)?, cell.broadcast_mul(&real)?);
            states.push(state.clone());
        }
        let states = Tensor::stack(&states, 0)?;
        let ahead = states.narrow(1, 0, 1)?.squeeze(1)?;
        let back = states.narrow(1, 1, 1)?.squeeze(1)?.contiguous()?.index_select(&turned, 0)?;
        Tensor::cat(&[ahead, back], 2)?.transpose(0, 1)?.contiguous()
    }
}

impl Scorer {
    /// With numbers as `PyTorch` begins with, and what is to be learnt of it.
    fn random([width, d_key]: [usize; 2], random: &mut SplitMix, device: &Device) -> CandleResult<(Self, Vec<Var>)> {
        let key = Layer::random([width, d_key], random, device)?;
        let query = drawn(&[d_key, 1], d_key, random, device)?;
        let scorer = Self {
            key: [key.weight.as_tensor().clone(), key.bias.as_tensor().clone()],
            query: query.as_tensor().clone(),
        };
        Ok((scorer, [key.vars(), vec![query]].concat()))
    }

    /// Scores of states `[batch, longest, width]`, far below all others where `real` is 0: `[batch, longest]`.
    fn scores(&self, states: &Tensor, real: &Tensor) -> CandleResult<Tensor> {
        let (n, longest, width) = states.dims3()?;
        let [weight, bias] = &self.key;
        let keys = states.reshape((n * longest, width))?.matmul(weight)?.broadcast_add(bias)?.tanh()?;
        keys.matmul(&self.query)?.reshape((n, longest))? + real.affine(FAR_BELOW, -FAR_BELOW)?
    }
}

/// A linear map that is learnt.
struct Layer {
    /// `[d_in, d_out]`.
    weight: Var,
    /// `[d_out]`.
    bias: Var,
}

impl Layer {
    fn random([d_in, d_out]: [usize; 2], random: &mut SplitMix, device: &Device) -> CandleResult<Self> {
        Ok(Self { weight: drawn(&[d_in, d_out], d_in, random, device)?, bias: drawn(&[d_out], d_in, random, device)? })
    }

    fn vars(&self) -> Vec<Var> {
        vec![self.weight.clone(), self.bias.clone()]
    }

    /// Of the last dimension of `x`.
    fn of(&self, x: &Tensor) -> CandleResult<Tensor> {
        let mut shape = x.dims().to_vec();
        let rows = x.reshape(((), shape.pop().unwrap_or(1)))?;
        shape.push(self.bias.dim(0)?);
        rows.matmul(self.weight.as_tensor())?.broadcast_add(self.bias.as_tensor())?.reshape(shape)
    }
}

/// Numbers between −1 and 1 over the root of the number of inputs.
fn drawn(shape: &[usize], d_in: usize, random: &mut SplitMix, device: &Device) -> CandleResult<Var> {
    let most = 1.0 / (d_in as f32).sqrt();
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|_| most * random.symmetric()).collect();
    Var::from_tensor(&Tensor::from_vec(values, shape, device)?)
}

/// A number for each token of each text of a batch, 0 beyond the end: `[batch, longest]`.
fn padded(batch: &TwinBatch, device: &Device, value: impl Fn(usize, usize) -> f32) -> CandleResult<Tensor> {
    let real = batch.real.to_vec2::<f32>()?;
    let rows = batch.at.iter().zip(&real).flat_map(|(text, real)| {
        let value = &value;
        real.iter().enumerate().map(move |(token, real)| if *real > 0.0 { value(*text, token) } else { 0.0 })
    });
    Tensor::from_iter(rows, device)?.reshape((batch.at.len(), batch.longest))
}
