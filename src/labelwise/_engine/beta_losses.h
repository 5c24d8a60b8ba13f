/* TU, AU and EU of a tile of Beta laws, for each loss; included by dirichlet.h. */

/* Log loss in nats, with m = a / S:
 *     TU = m ln(S/a) + ..., AU = m [psi(S+1) - psi(a+1)] + ..., EU = m [lambda(a) - lambda(S)] + ...;
 * the dots stand for the same of b. No two of these numbers are subtracted. */
static void NAME(log_tile)(const lw_dirichlet_job *job, NAME(laws) *x)
{
    EACH_OF(i, LAWS) {
        const double a = x->a[i], b = x->b[i], m = a / (a + b), c = b / (a + b);
        double ln_a, ln_b, psi_a, psi_b, lambda_a, lambda_b;
        NAME(digamma_steps)(a, b, &ln_a, &psi_a, &lambda_a);
        NAME(digamma_steps)(b, a, &ln_b, &psi_b, &lambda_b);
        x->total[i] = (m * ln_a + c * ln_b) * job->unit;
        x->aleatoric[i] = (m * psi_a + c * psi_b) * job->unit;
        x->epistemic[i] = (m * lambda_a + c * lambda_b) * job->unit;
    }
}

static void NAME(squared_tile)(NAME(laws) *x)
{
    EACH_OF(i, LAWS) {
        const double a = x->a[i], b = x->b[i], s = a + b;
        x->total[i] = (a / s) * (b / s);
        x->aleatoric[i] = (a / s) * (b / (s + 1));
        x->epistemic[i] = (a / s) * (b / (s + 1)) / s;
    }
}

/* Spherical loss: G = 1 - |t| = t c k(t) with k(t) = 2 / (1 + |t|), a function of (2t - 1)^2 whose
 * Chebyshev series ends after 22 terms. So AU = m (1-m) S/(S+1) E k under Beta(a+1, b+1), from the
 * recurrence of the Chebyshev moments of a Beta law. For S >= 128 EU is the Taylor series of |t| around
 * the mean in central moments, also from their recurrence; below, EU is not small beside TU - AU. */
static void NAME(spherical_tile)(NAME(laws) *x)
{
    double before[LAWS], now[LAWS], sum[LAWS];
    EACH_OF(i, LAWS) {
        const double a = x->a[i], b = x->b[i];
        before[i] = 1;
        now[i] = (a - b) / (a + b + 2);
        sum[i] = x->chebyshev[0];
    }
    for (int n = 1; n < 2 * LW_CHEBYSHEV_TERMS - 2; n += 2) {
        const double c = x->chebyshev[(n + 1) / 2];
        EACH_OF(i, LAWS) {
            const double a = x->a[i], b = x->b[i], s = a + b + 2, two = 2 * (a - b);
            const double next = (two * now[i] - (s - n) * before[i]) / (s + n);
            sum[i] += c * next;
            now[i] = (two * next - (s - (n + 1)) * now[i]) / (s + (n + 1));
            before[i] = next;
        }
    }
    double root0[LAWS], root1[LAWS], moment0[LAWS], moment1[LAWS], series[LAWS];
    EACH_OF(i, LAWS) {
        const double m = x->a[i] / (x->a[i] + x->b[i]), c = x->b[i] / (x->a[i] + x->b[i]);
        root0[i] = moment0[i] = 1;
        root1[i] = (m - c) / (m * m + c * c);
        moment1[i] = series[i] = 0;
    }
    for (int n = 2; n <= 24; n++) {
        EACH_OF(i, LAWS) {
            const double s = x->a[i] + x->b[i], m = x->a[i] / s, c = x->b[i] / s, bend = 2 / (m * m + c * c);
            const double next = (1.5 - n) * (m - c) * bend * root1[i] + (3 - n) * bend * root0[i];
            const double root = next * (1.0 / n);
            const double moment = (n - 1) * ((c - m) * moment1[i] + m * c * moment0[i]) / (s + (n - 1));
            series[i] += root * moment;
            root0[i] = root1[i];
            root1[i] = root;
            moment0[i] = moment1[i];
            moment1[i] = moment;
        }
    }
    EACH_OF(i, LAWS) {
        const double s = x->a[i] + x->b[i], m = x->a[i] / s, c = x->b[i] / s, norm = sqrt(m * m + c * c);
        const double total = 2 * m * c / (1 + norm), direct = m * (x->b[i] / (s + 1)) * sum[i];
        const double epistemic = NAME(larger)(s < 128 ? total - direct : norm * series[i], 0);
        x->total[i] = total;
        x->epistemic[i] = epistemic;
        x->aleatoric[i] = s < 128 ? direct : total - epistemic;
    }
}

/* Costs: EU = (fp + fn) E(Theta - tau)+ with tau = fp / (fp + fn), if the mean is below tau; else the same
 * with both sides exchanged.
 *
 * Theta = tau + d, 1 - Theta = (1 - tau) e^-v: the expectation is t^a c^b / B(a, b) at tau times the
 * integral over v of
 *     d / (tau + d) exp[-lambda d - a g(d / tau) - b h(v)]
 * with g(x) = x - ln(1+x), h(v) = v - 1 + e^-v, lambda = (b tau - a (1-tau)) / (tau (1-tau)): a sum of
 * terms of one sign. v = w (e^y - 1) with Gauss-Legendre nodes in y; beyond v = 40, d is constant and the
 * rest is an exponential. */
static void NAME(cost_tile)(NAME(laws) *x)
{
    double a[LAWS], b[LAWS], tau[LAWS], c[LAWS], inverse[LAWS], lambda[LAWS];
    double width[LAWS], length[LAWS], scale[LAWS], sum[LAWS];
    EACH_OF(i, LAWS) {
        const double p = x->false_positive[i], n = x->false_negative[i], whole = p + n;
        const int free = !(p > 0) | !(n > 0);
        const double t0 = free ? 0.5 : p / whole, c0 = free ? 0.5 : n / whole;
        const double product = x->a[i] * c0;
        /* b tau - a c, with all its digits */
        const double gap = FMA(x->b[i], t0, -product) - FMA(x->a[i], c0, -product);
        const int below = gap >= 0;
        a[i] = below ? x->a[i] : x->b[i];
        b[i] = below ? x->b[i] : x->a[i];
        tau[i] = below ? t0 : c0;
        c[i] = below ? c0 : t0;
        const double d = below ? gap : -gap;
        lambda[i] = d / (tau[i] * c[i]);
        inverse[i] = 1 / tau[i];
        /* up to where the exponent is 38 or more */
        const double by_b = b[i] >= 103 ? sqrt(103 / b[i]) : 103 / b[i];
        const double by_lambda = 64 / NAME(larger)(lambda[i] * c[i], 1e-300);
        const double most = NAME(smaller)(NAME(smaller)(by_b, 40), by_lambda < 1 ? by_lambda : 40);
        width[i] = NAME(smaller)(NAME(smaller)(tau[i] / c[i], 1), most / 6);
        length[i] = NAME(log_quotient)(width[i], most);
        const double end = lambda[i] * c[i] + a[i] * NAME(log_gap)(c[i] * inverse[i]) + b[i] * (most - 1);
        sum[i] = most < 40 ? 0 : c[i] * NAME(exp)(-end) / b[i];
        /* t^a c^b / B(a, b) at tau: Loader's form, with the divergence of the mean from tau */
        const double s = a[i] + b[i], y = d / b[i];
        const double far = -y - NAME(log)(c[i] * (s / b[i])), near = NAME(near_log_gap)(y < 0.5 ? -y : -0.5);
        const double divergence = a[i] * NAME(log_gap)(d / a[i]) + b[i] * (y < 0.5 ? near : far);
        const double of_s = NAME(stirling_error)(s);
        const double errors = of_s - NAME(stirling_error)(a[i]) - NAME(stirling_error)(b[i]);
        const double root = sqrt(a[i] * (b[i] / s) * 0.15915494309189533577); /* 1 / (2 pi) */
        scale[i] = free ? 0 : whole * root * NAME(exp)(errors - divergence);
        const double all = x->a[i] + x->b[i];
        x->total[i] = NAME(smaller)(n * (x->a[i] / all), p * (x->b[i] / all));
    }
    for (int j = 0; j < LW_GAUSS_POINTS; j++) {
        const double node = x->nodes[j], weight = x->weights[j];
        EACH_OF(i, LAWS) {
            const double e = NAME(exp)(length[i] * node), v = width[i] * (e - 1);
            const double small = NAME(exp)(-v), gap = NAME(exp_gap)(v, small);
            const double d = c[i] * (v < 0.5 ? v - gap : 1 - small);
            const double exponent = lambda[i] * d + a[i] * NAME(log_gap)(d * inverse[i]) + b[i] * gap;
            sum[i] += weight * length[i] * width[i] * e * (d / (tau[i] + d)) * NAME(exp)(-exponent);
        }
    }
    EACH_OF(i, LAWS) {
        const double epistemic = NAME(smaller)(scale[i] * sum[i], x->total[i]);
        x->epistemic[i] = epistemic;
        x->aleatoric[i] = x->total[i] - epistemic;
    }
}

/* p ln(p/m) - d >= 0 with d = p - m, as accurate as d is. */
static ALWAYS_INLINE double NAME(kl_term)(double p, double m, double d)
{
    const double s = d / (p + m + 1e-300), z = s * s;
    const double near = d * s * (1 + (s + z) * LW_ARTANH_F64(z));
    const double far = p * NAME(log)((p + 1e-300) / (m + 1e-300)) - d;
    return z < 1.0 / 9 ? near : NAME(larger)(far, 0);
}

/* What a member of weight w and mean t = 1 - c adds to the disagreement with the mixture's mean m = 1 - mc,
 * d = t - m. */
static void NAME(disagree_tile)(const lw_dirichlet_job *job, NAME(laws) *x, const double *t, const double *c,
                                const double *w, const double *d)
{
    EACH_OF(i, LAWS) {
        const double m = x->mean[i], mc = x->rest[i];
        double one = 0, other = 0;
        if (job->loss == LW_LOG) {
            one = (NAME(kl_term)(t[i], m, d[i]) + NAME(kl_term)(c[i], mc, -d[i])) * job->unit;
        } else if (job->loss == LW_SQUARED) {
            one = d[i] * d[i];
        } else if (job->loss == LW_SPHERICAL) {
            const double norm = sqrt(m * m + mc * mc);
            one = d[i] * d[i] / (norm * (sqrt(t[i] * t[i] + c[i] * c[i]) * norm + t[i] * m + c[i] * mc));
        } else {
            const double regret = x->false_negative[i] * t[i] - x->false_positive[i] * c[i];
            const int act = t[i] <= c[i] ? t[i] > x->below[i] : c[i] < x->above[i];
            one = act ? NAME(larger)(regret, 0) : 0;
            other = act ? 0 : NAME(larger)(-regret, 0);
        }
        x->disagreement[i] += w[i] * one;
        x->other[i] += w[i] * other;
    }
}

/* G of the mixture's mean. */
static void NAME(entropy_tile)(const lw_dirichlet_job *job, NAME(laws) *x)
{
    EACH_OF(i, LAWS) {
        const double t = x->mean[i], c = x->rest[i], u = NAME(smaller)(t, c);
        if (job->loss == LW_LOG) {
            const double upper = (1 - u) * -NAME(log_quotient)(1 - u, u); /* (1 - u) ln(1 - u) */
            x->total[i] = -(u * NAME(log)(u + 1e-300) + upper) * job->unit;
        } else if (job->loss == LW_SQUARED) {
            x->total[i] = t * c;
        } else if (job->loss == LW_SPHERICAL) {
            x->total[i] = 2 * t * c / (1 + sqrt(t * t + c * c));
        } else {
            x->total[i] = NAME(smaller)(x->false_negative[i] * t, x->false_positive[i] * c);
        }
    }
}
