//! Eigenvalues and eigenvectors of a symmetric matrix.
//!
//! Householder tridiagonalisation and implicit QL (Bowdler, Martin, Reinsch and Wilkinson, 1968; the
//! EISPACK routines tred2 and tql2). All pairs at once costs less than iterating for two, and close
//! eigenvalues do no harm.

/// Eigenvalues, largest first, each with its unit eigenvector, of the symmetric `n × n` matrix `a`.
///
/// The sign is chosen so that the component of largest size (the first of them) is positive. Equal input
/// gives equal output. A matrix with values that are not finite gives `None`.
pub fn symmetric(a: &[f64], n: usize) -> Option<Vec<(f64, Vec<f64>)>> {
    if n == 0 || a.len() != n * n || !a.iter().all(|x| x.is_finite()) {
        return None;
    }
    // `v` holds columns one after the other, so the inner loops run over neighbours.
    let mut v = a.to_vec();
    let mut diagonal = vec![0.0; n];
    let mut off = vec![0.0; n];
    tridiagonalise(&mut v, &mut diagonal, &mut off);
    diagonalise(&mut v, &mut diagonal, &mut off);
    let mut pairs: Vec<(f64, Vec<f64>)> =
        diagonal.iter().zip(v.chunks_exact(n)).map(|(&value, column)| (value, positive(column))).collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    Some(pairs)
}

fn positive(column: &[f64]) -> Vec<f64> {
    // Components that differ by rounding only count as equal, or the sign would hang on noise.
    let size = column.iter().fold(0.0f64, |size, x| size.max(x.abs()));
    let leading = column.iter().copied().find(|x| x.abs() >= size * (1.0 - 1e-9)).unwrap_or(1.0);
    column.iter().map(|x| if leading < 0.0 { -x } else { *x }).collect()
}

/// Householder reduction; `v[column · n + row]` becomes the accumulated transformation.
fn tridiagonalise(v: &mut [f64], d: &mut [f64], e: &mut [f64]) {
    let n = d.len();
    let at = |row: usize, col: usize| col * n + row;
    for j in 0..n {
        d[j] = v[at(n - 1, j)];
    }
    for i in (1..n).rev() {
        let scale: f64 = d[..i].iter().map(|x| x.abs()).sum();
        let mut h = 0.0;
        if scale == 0.0 {
            e[i] = d[i - 1];
            for j in 0..i {
                d[j] = v[at(i - 1, j)];
                v[at(i, j)] = 0.0;
                v[at(j, i)] = 0.0;
            }
        } else {
            for x in &mut d[..i] {
                *x /= scale;
                h += *x * *x;
            }
            let f = d[i - 1];
            let g = if f > 0.0 { -h.sqrt() } else { h.sqrt() };
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            e[..i].fill(0.0);
            for j in 0..i {
                let f = d[j];
                v[at(j, i)] = f;
                let column = &v[j * n..j * n + i];
                let mut g = e[j] + column[j] * f;
                for k in j + 1..i {
                    g += column[k] * d[k];
                    e[k] += column[k] * f;
                }
                e[j] = g;
            }
            let mut f = 0.0;
            for j in 0..i {
                e[j] /= h;
                f += e[j] * d[j];
            }
            let hh = f / (h + h);
            for j in 0..i {
                e[j] -= hh * d[j];
            }
            for j in 0..i {
                let (f, g) = (d[j], e[j]);
                let column = &mut v[j * n..(j + 1) * n];
                for k in j..i {
                    column[k] -= f * e[k] + g * d[k];
                }
                d[j] = column[i - 1];
                column[i] = 0.0;
            }
        }
        d[i] = h;
    }
    accumulate(v, d);
    e[0] = 0.0;
}

fn accumulate(v: &mut [f64], d: &mut [f64]) {
    let n = d.len();
    for i in 0..n - 1 {
        v[i * n + n - 1] = v[i * n + i];
        v[i * n + i] = 1.0;
        let h = d[i + 1];
        let (before, after) = v.split_at_mut((i + 1) * n);
        let reflector = &mut after[..=i];
        if h != 0.0 {
            for k in 0..=i {
                d[k] = reflector[k] / h;
            }
            for column in before.chunks_exact_mut(n) {
                let g: f64 = reflector.iter().zip(&*column).map(|(a, b)| a * b).sum();
                for (x, dk) in column.iter_mut().zip(&d[..=i]) {
                    *x -= g * dk;
                }
            }
        }
        reflector.fill(0.0);
    }
    for j in 0..n {
        d[j] = v[j * n + n - 1];
        v[j * n + n - 1] = 0.0;
    }
    v[n * n - 1] = 1.0;
}

/// Implicit QL on the tridiagonal matrix with diagonal `d` and sub-diagonal `e[1..]`.
fn diagonalise(v: &mut [f64], d: &mut [f64], e: &mut [f64]) {
    /// Far more than ever needed; bounds the loop whatever the input.
    const MAX_STEPS: usize = 60;
    let n = d.len();
    e.copy_within(1.., 0);
    e[n - 1] = 0.0;
    let (mut shift, mut size) = (0.0, 0.0f64);
    for l in 0..n {
        size = size.max(d[l].abs() + e[l].abs());
        // `e[n - 1]` is 0, so there always is such an m.
        let m = (l..n).find(|&m| e[m].abs() <= f64::EPSILON * size).unwrap_or(n - 1);
        for _ in 0..MAX_STEPS {
            if m == l || e[l].abs() <= f64::EPSILON * size {
                break;
            }
            let g = d[l];
            let p = (d[l + 1] - g) / (2.0 * e[l]);
            let r = if p < 0.0 { -p.hypot(1.0) } else { p.hypot(1.0) };
            d[l] = e[l] / (p + r);
            d[l + 1] = e[l] * (p + r);
            let next = d[l + 1];
            let h = g - d[l];
            d[l + 2..].iter_mut().for_each(|x| *x -= h);
            shift += h;
            let mut p = d[m];
            let (mut c, mut c2, mut c3) = (1.0, 1.0, 1.0);
            let (mut s, mut s2) = (0.0, 0.0);
            let following = e[l + 1];
            for i in (l..m).rev() {
                c3 = c2;
                c2 = c;
                s2 = s;
                let g = c * e[i];
                let h = c * p;
                let r = p.hypot(e[i]);
                e[i + 1] = s * r;
                s = e[i] / r;
                c = p / r;
                p = c * d[i] - s * g;
                d[i + 1] = h + s * (c * g + s * d[i]);
                let (left, right) = v[i * n..(i + 2) * n].split_at_mut(n);
                for (a, b) in left.iter_mut().zip(right) {
                    let h = *b;
                    *b = s * *a + c * h;
                    *a = c * *a - s * h;
                }
            }
            p = -s * s2 * c3 * following * e[l] / next;
            e[l] = s * p;
            d[l] = c * p;
        }
        d[l] += shift;
        e[l] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::symmetric;

    #[test]
    fn pairs_satisfy_the_eigenvalue_equation() {
        for n in [1usize, 2, 3, 8, 33] {
            let a: Vec<f64> = (0..n * n)
                .map(|at| {
                    let (i, j) = (at / n, at % n);
                    ((i + j) as f64 * 0.7).sin() + if i == j { i as f64 } else { 0.0 }
                })
                .collect();
            let pairs = symmetric(&a, n).unwrap();
            assert_eq!(pairs.len(), n);
            for (value, vector) in &pairs {
                for (i, row) in a.chunks_exact(n).enumerate() {
                    let product: f64 = row.iter().zip(vector).map(|(a, b)| a * b).sum();
                    assert!((product - value * vector[i]).abs() < 1e-10, "n = {n}");
                }
                assert!((vector.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            }
            assert!(pairs.is_sorted_by(|a, b| a.0 >= b.0));
        }
    }

    #[test]
    fn values_that_are_not_finite_have_no_eigenvalues() {
        assert!(symmetric(&[1.0, f64::NAN, f64::NAN, 1.0], 2).is_none());
        assert!(symmetric(&[0.0; 9], 3).unwrap().iter().all(|pair| pair.0 == 0.0));
    }
}
