//! The counter-based generators: published and frozen vectors, random access, and plain statistics.

use forge_kernels::isa::{Isa, force};
use forge_kernels::rng::{Key, Label, at, mix};
use forge_kernels::team::Team;

/// The key of the frozen vectors, which an independent program (integers and 50-digit arithmetic) computed.
fn key() -> Key {
    Key::new(42).derive("layers.3").derive(7)
}

#[test]
fn published_sequence() {
    let published =
        [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821];
    for (i, x) in published.into_iter().enumerate() {
        assert_eq!(at(1_234_567, i as u64), x);
        assert_eq!(Key::new(1_234_567).u64_at(i as u64), x, "stream 0 is the plain sequence");
    }
    assert_eq!(mix(0), 0);
}

#[test]
fn frozen_derivation() {
    assert_eq!(Key::new(42).derive("layers.3").stream, 0xea26_939a_4b83_4058);
    assert_eq!(key(), Key { seed: 42, stream: 0x4a6e_84d9_5881_ef38 });
    assert_eq!(Key::new(0).derive("7").stream, 0x3d21_84cf_3397_7634);
    assert_eq!(Key::new(0).derive(7).stream, 0x5d80_0949_ab36_e7b7);
    let k = Key::new(42);
    assert_ne!(k.derive("a").derive("b"), k.derive("b").derive("a"));
    assert_ne!(k.derive(1).derive(2), k.derive(2).derive(1));
    assert_ne!(k.derive("").stream, 0);
    assert_eq!(k.derive(7u64), k.derive(7usize));
    assert_eq!(k.derive(String::from("x")), k.derive("x"));
    assert_eq!("x".bits(), Label::bits(&&"x"));
}

#[test]
fn frozen_maps() {
    let k = key();
    let bits: [u64; 8] = [
        0x6ecf_d970_8ed9_dd1b,
        0x615f_70ab_2777_b301,
        0x4f4e_9ca3_b098_137a,
        0xa185_e5a9_cd02_d102,
        0xc19c_9a3f_f802_cf9d,
        0xbefe_6932_f7bd_fbe9,
        0x8158_8e11_1a93_c7d8,
        0x2249_55b2_b141_4931,
    ];
    let unit: [f64; 8] = [
        0.432_859_029_750_808_03,
        0.380_362_550_531_087_9,
        0.309_793_271_983_466_2,
        0.630_949_357_943_801_2,
        0.756_295_815_102_940_5,
        0.746_069_502_776_428_7,
        0.505_257_491_279_350_8,
        0.133_931_499_601_435_47,
    ];
    let uniform: [f32; 8] = [
        0.164_295_15,
        -0.098_187_245,
        -0.451_033_65,
        1.154_746_8,
        1.781_479_1,
        1.730_347_5,
        0.526_287_44,
        -1.330_342_5,
    ];
    let ints = [5, 3, 0, 12, 16, 16, 7, -6];
    let normal: [f64; 8] = [
        -0.778_034_237_536_381,
        0.727_294_636_291_067_4,
        -0.585_722_569_429_006_8,
        -0.631_234_752_328_119_3,
        -0.041_493_954_343_909_255,
        -1.679_844_797_619_05,
        0.790_506_613_396_352_4,
        0.884_610_064_658_247_7,
    ];
    let gumbel: [f64; 8] = [
        0.177_521_292_061_992_8,
        0.033_939_068_832_434_3,
        -0.158_583_755_092_076,
        0.775_377_981_310_915_8,
        1.275_387_572_245_716,
        1.227_799_362_869_446_8,
        0.381_718_656_257_228_06,
        -0.698_347_041_191_959_6,
    ];
    for i in 0..8 {
        let n = i as u64;
        assert_eq!(k.u64_at(n), bits[i]);
        assert_eq!(k.unit_at(n), unit[i]);
        assert_eq!(k.uniform_at(n, -2.0f32, 3.0), uniform[i]);
        assert_eq!(k.int_at(n, -10, 25), ints[i]);
        assert_eq!(k.bernoulli_at(n, 0.3), unit[i] < 0.3);
        // Those vectors are rounded correctly; ours may differ in the last places, but never between machines.
        assert!((k.normal_at(n) - normal[i]).abs() < 1e-15, "{} {}", k.normal_at(n), normal[i]);
        assert!((k.gumbel_at(n) - gumbel[i]).abs() < 1e-15, "{} {}", k.gumbel_at(n), gumbel[i]);
    }
    let mut order = [0; 10];
    k.fill_permutation(&mut order);
    assert_eq!(order, [1, 5, 0, 7, 8, 6, 9, 2, 3, 4]);
}

/// FNV-1a over the bits of values, to freeze many at once.
fn fingerprint(x: impl IntoIterator<Item = u64>) -> u64 {
    x.into_iter()
        .flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn frozen_bits_of_our_own_logarithm_and_sine() {
    let (mut z, mut g) = (vec![0.0f64; 100_000], vec![0.0f64; 100_000]);
    key().fill_normal(0, &mut z, 0.0, 1.0);
    key().fill_gumbel(0, &mut g);
    assert_eq!(fingerprint(z.into_iter().map(f64::to_bits)), 0xe175_8444_213d_cc7e);
    assert_eq!(fingerprint(g.into_iter().map(f64::to_bits)), 0x3861_628b_acb6_2672);
}

#[test]
fn fills_are_random_access_on_any_team_and_instruction_set() {
    const N: usize = 40_001;
    let k = key();
    for arm in Isa::ALL {
        let _held = force(arm);
        for threads in [1, 2, 3, 8] {
            Team::new(threads).enter(|| {
                // Whole, and in odd pieces from odd places.
                for (start, n) in [(0, N), (1, 7), (4095, 4099), (8191, 130), (u64::MAX - 2, 6)] {
                    let at = |i: usize| start.wrapping_add(i as u64);
                    let (mut f, mut d) = (vec![0.0f32; n], vec![0.0f64; n]);
                    k.fill_normal(start, &mut d, 0.0, 1.0);
                    assert!((0..n).all(|i| d[i].to_bits() == k.normal_at(at(i)).to_bits()));
                    k.fill_normal(start, &mut f, 2.0, 0.5);
                    assert!((0..n).all(|i| f[i] == (2.0 + 0.5 * k.normal_at(at(i))) as f32));
                    k.fill_uniform(start, &mut f, -1.0, 1.0);
                    assert!((0..n).all(|i| f[i] == k.uniform_at(at(i), -1.0f32, 1.0)));
                    k.fill_gumbel(start, &mut d);
                    assert!((0..n).all(|i| d[i].to_bits() == k.gumbel_at(at(i)).to_bits()));
                    let (mut b, mut t, mut u) = (vec![false; n], vec![0i64; n], vec![0u64; n]);
                    k.fill_bernoulli(start, &mut b, 0.25);
                    assert!((0..n).all(|i| b[i] == k.bernoulli_at(at(i), 0.25)));
                    k.fill_int(start, &mut t, -5, 1 << 40);
                    assert!((0..n).all(|i| t[i] == k.int_at(at(i), -5, 1 << 40)));
                    k.fill_u64(start, &mut u);
                    assert!((0..n).all(|i| u[i] == k.u64_at(at(i))));
                }
            });
        }
    }
}

fn moments(x: &[f64]) -> (f64, f64, f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let m = |p: i32| x.iter().map(|v| (v - mean).powi(p)).sum::<f64>() / n;
    let var = m(2);
    (mean, var, m(3) / var.powf(1.5), m(4) / (var * var))
}

#[test]
fn distributions_have_their_moments() {
    // With 10^6 draws the standard errors are about 0.001 (mean), 0.0014 (variance), 0.0025 and 0.005 (shape).
    let mut x = vec![0.0f64; 1_000_000];
    for seed in 0..3 {
        let k = Key::new(seed).derive("moments");
        k.fill_normal(0, &mut x, 0.0, 1.0);
        let (mean, var, skew, kurt) = moments(&x);
        assert!(mean.abs() < 5e-3 && (var - 1.0).abs() < 7e-3 && skew.abs() < 0.012 && (kurt - 3.0).abs() < 0.025);
        // The two halves of a pair do not correlate.
        let dot = x.chunks_exact(2).map(|p| p[0] * p[1]).sum::<f64>() / 5e5;
        assert!(dot.abs() < 7e-3);
        k.fill_uniform(0, &mut x, 0.0, 1.0);
        let (mean, var, _, _) = moments(&x);
        assert!((mean - 0.5).abs() < 1.5e-3 && (var - 1.0 / 12.0).abs() < 1e-3);
        k.fill_gumbel(0, &mut x);
        let (mean, var, _, _) = moments(&x);
        assert!((mean - 0.577_215_66).abs() < 7e-3 && (var - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.02);
        let mut b = vec![false; 1_000_000];
        k.fill_bernoulli(0, &mut b, 0.2);
        let ones = b.iter().filter(|&&b| b).count() as f64;
        assert!((ones - 2e5).abs() < 2.5e3);
    }
}

#[test]
fn keys_of_one_seed_and_seeds_of_one_key_do_not_correlate() {
    const N: usize = 100_000;
    let mut keys: Vec<_> = (0..4).map(Key::new).collect();
    keys.extend((0..4u64).map(|i| Key::new(0).derive(i)));
    keys.extend(["a", "b", "ab", "layers.0", "layers.1"].map(|s| Key::new(0).derive(s)));
    let draws: Vec<Vec<f64>> = keys
        .iter()
        .map(|k| {
            let mut x = vec![0.0; N];
            k.fill_normal(0, &mut x, 0.0, 1.0);
            x
        })
        .collect();
    for (i, a) in draws.iter().enumerate() {
        for b in &draws[..i] {
            let r = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() / N as f64;
            assert!(r.abs() < 5.0 / (N as f64).sqrt(), "{r}");
        }
    }
}

#[test]
fn integers_and_permutations_are_even() {
    let k = key();
    let mut counts = [0u32; 7];
    (0..70_000).for_each(|i| counts[(k.int_at(i, -3, 4) + 3) as usize] += 1);
    assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 500), "{counts:?}");
    // Each of the 6 orders of 3 items.
    let mut orders = std::collections::BTreeMap::new();
    for i in 0..6000u64 {
        let mut p = [0; 3];
        k.derive(i).fill_permutation(&mut p);
        *orders.entry(p).or_insert(0u32) += 1;
    }
    assert!(orders.len() == 6 && orders.values().all(|c| c.abs_diff(1000) < 160), "{orders:?}");
    let mut long = vec![0; 10_000];
    k.fill_permutation(&mut long);
    assert_ne!(long[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    long.sort_unstable();
    assert!(long.iter().enumerate().all(|(i, &x)| x == i as i64));
    k.fill_permutation(&mut []);
    assert_eq!(k.uniform_at(3, 2.5f32, 2.5), 2.5);
}

#[test]
#[should_panic(expected = "no integer in 3..3")]
fn an_empty_range_has_no_integer() {
    key().int_at(0, 3, 3);
}

#[test]
#[should_panic(expected = "no number in")]
fn a_range_must_be_finite() {
    key().uniform_at(0, 0.0, f32::INFINITY);
}
