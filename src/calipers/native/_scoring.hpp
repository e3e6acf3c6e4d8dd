// Scores of ranked lists under the measures that most people ask for, straight from what the scanner keeps.
//
// What these measures are, the forms in measures/forms say: Linear, RelevantPrefix, Paired, Cascade, Peak, Preference,
// MeanPrecisionFrom. They are here a second time because a command that needs no NumPy is done before NumPy would be
// loaded; tests hold the two together.

#pragma once

#include "_scanner.hpp"

namespace calipers {

// The terms of a plan, by the names that Python uses for them.
enum class Form { sum, prefix, precision, first, preference, interpolated };  // the last two: ties broken by id only
enum class Weight { flat, log2, zipf, geometric };
enum class Worth { relevant, linear, exponential };
enum class Over { one, cutoff, relevant, ideal };

struct Plan {
    Form form;
    Weight weight;
    Worth worth;
    Over over;
    int64_t cutoff;  // 0: none
    double rel;      // the least grade of a relevant document
    double p;        // of the geometric weight; the recall that is interpolated at
};

// The weights of ranks, and their sums from rank 1 on, as far down as they were asked for.
class Ranks {
public:
    explicit Ranks(const Plan& plan) : plan_(plan) {}

    // Nothing beyond the cutoff weighs anything.
    double at(int64_t rank) { return plan_.cutoff && rank > plan_.cutoff ? 0.0 : (reach(rank), weight_[size_t(rank)]); }

    double up_to(int64_t rank) {
        if (plan_.cutoff) rank = std::min(rank, plan_.cutoff);
        reach(rank);
        return sum_[size_t(rank)];
    }

    double mean(int64_t first, int64_t last) {
        if (first == last) return at(first);
        return (up_to(last) - up_to(first - 1)) / static_cast<double>(last - first + 1);
    }

private:
    Plan plan_;
    std::vector<double> weight_{0.0}, sum_{0.0};

    void reach(int64_t rank) {
        while (static_cast<int64_t>(weight_.size()) <= rank) {
            double weight = of(static_cast<double>(weight_.size()));
            sum_.push_back(sum_.back() + weight);
            weight_.push_back(weight);
        }
    }

    double of(double rank) const {
        switch (plan_.weight) {
            case Weight::log2: return 1.0 / std::log2(rank + 1.0);
            case Weight::zipf: return 1.0 / rank;
            case Weight::geometric: return (1.0 - plan_.p) * std::pow(plan_.p, rank - 1.0);
            default: return 1.0;
        }
    }
};

// A measure and all that it needs of the judgments: what each document is worth, and what a score is divided by.
class Scoring {
public:
    // False if some query has no relevant document, or is worth more than a double holds: what is undefined then, and
    // what it counts, is not decided here.
    bool build(const Plan& plan, const std::vector<int64_t>& parts, const std::vector<double>& grade) {
        plan_ = plan;
        worth_.resize(grade.size());
        for (size_t row = 0; row < grade.size(); ++row) worth_[row] = worth(grade[row]);
        ignored_.resize(plan.form == Form::preference ? grade.size() : 0);
        for (size_t row = 0; row < ignored_.size(); ++row) ignored_[row] = grade[row] < 0;
        Ranks ranks(plan);
        std::vector<double> sorted;
        for (size_t q = 0; q + 1 < parts.size(); ++q) {
            sorted.assign(worth_.begin() + parts[q], worth_.begin() + parts[q + 1]);
            int64_t relevant = 0;
            double together = 0.0;
            for (double value : sorted) relevant += value > 0, together += value;
            if (!relevant || !std::isfinite(together)) return false;
            int64_t other = parts[q + 1] - parts[q] - relevant;
            if (!ignored_.empty()) other -= std::count(ignored_.begin() + parts[q], ignored_.begin() + parts[q + 1], 1);
            other_.push_back(other);
            relevant_.push_back(relevant);
            double over = 1.0;
            if (plan.over == Over::cutoff) over = static_cast<double>(plan.cutoff);
            if (plan.over == Over::relevant) over = static_cast<double>(relevant);
            if (plan.over == Over::ideal) {
                std::sort(sorted.begin(), sorted.end(), std::greater<double>());
                over = 0.0;
                for (int64_t rank = 1; rank <= relevant; ++rank) over += sorted[size_t(rank - 1)] * ranks.at(rank);
            }
            over_.push_back(over);
        }
        return true;
    }

    // The score of one list of query q: judged documents in trec_eval's order, in which ties are broken if `by_id`.
    double score(Ranks& ranks, size_t q, const Row* row, const Row* end, bool by_id) const {
        double score = 0.0;
        switch (plan_.form) {
            case Form::sum: score = sum(ranks, row, end, by_id); break;
            case Form::prefix: score = prefix(q, row, end, by_id); break;
            case Form::precision: score = precision(ranks, row, end, by_id); break;
            case Form::first: score = first(ranks, row, end, by_id); break;
            case Form::preference: score = preference(q, row, end); break;
            case Form::interpolated: score = interpolated(q, row, end); break;
        }
        return score / over_[q];
    }

    const Plan& plan() const { return plan_; }

private:
    Plan plan_{};
    std::vector<double> worth_;  // of each judged document
    std::vector<double> over_;   // of each query
    std::vector<int64_t> relevant_, other_;  // of each query, the documents that are and that are judged not to be
    std::vector<char> ignored_;  // of each judged document: neither, as far as preferences go

    struct Tie {
        int64_t before, size, relevant;
    };

    double worth(double grade) const {
        if (plan_.worth == Worth::relevant) return grade >= plan_.rel ? 1.0 : 0.0;
        grade = std::max(grade, 0.0);
        return plan_.worth == Worth::linear ? grade : std::exp2(grade) - 1.0;
    }

    // Mean weight of the ranks that a document could have, times its worth.
    double sum(Ranks& ranks, const Row* row, const Row* end, bool by_id) const {
        double total = 0.0;
        for (; row < end && (!plan_.cutoff || row->first <= plan_.cutoff); ++row) {
            double value = worth_[size_t(row->document)];
            if (value == 0.0) continue;
            total += value * (by_id ? ranks.at(row->docid_rank) : ranks.mean(row->first, row->last));
        }
        return total;
    }

    // How many relevant documents stand in the first R ranks, or down to the cutoff.
    double prefix(size_t q, const Row* row, const Row* end, bool by_id) const {
        int64_t depth = plan_.cutoff ? std::min(plan_.cutoff, relevant_[q]) : relevant_[q];
        double total = 0.0;
        for (; row < end && row->first <= depth; ++row) {
            if (worth_[size_t(row->document)] == 0.0) continue;
            int64_t first = by_id ? row->docid_rank : row->first, last = by_id ? row->docid_rank : row->last;
            int64_t inside = std::min(std::max<int64_t>(depth - first + 1, 0), last - first + 1);
            total += static_cast<double>(inside) / static_cast<double>(last - first + 1);
        }
        return total;
    }

    // The next tie with a relevant document, a document alone being a tie of one; `row` goes behind it.
    bool next(const Row*& row, const Row* end, bool by_id, Tie* tie) const {
        while (row < end && worth_[size_t(row->document)] == 0.0) ++row;
        if (row == end) return false;
        const Row* start = row++;
        *tie = {start->first - 1, start->last - start->first + 1, 1};
        if (by_id) *tie = {start->docid_rank - 1, 1, 1};
        if (tie->size > 1)
            for (; row < end && row->first == start->first; ++row) tie->relevant += worth_[size_t(row->document)] != 0.0;
        return true;
    }

    // The precisions at the relevant documents. In a tie of m documents, r of them relevant, after s others, B of
    // them relevant, rank s + j adds (1 / (s + j)) (r / m) (B + 1 + (j - 1) (r - 1) / (m - 1)) on average.
    double precision(Ranks& harmonic, const Row* row, const Row* end, bool by_id) const {
        double total = 0.0, above = 0.0;
        for (Tie tie; next(row, end, by_id, &tie);) {
            int64_t last = tie.before + tie.size;
            if (plan_.cutoff) last = std::min(last, plan_.cutoff);
            if (last <= tie.before) break;
            double relevant = static_cast<double>(tie.relevant), size = static_cast<double>(tie.size);
            if (tie.size == 1) {
                total += (above + 1.0) / static_cast<double>(last);
            } else {
                double before = static_cast<double>(tie.before), shown = static_cast<double>(last) - before;
                double inverse = harmonic.up_to(last) - harmonic.up_to(tie.before);
                double within = (relevant - 1.0) / (size - 1.0) * (shown - (before + 1.0) * inverse);
                total += relevant / size * ((above + 1.0) * inverse + within);
            }
            above += relevant;
        }
        return total;
    }

    // The weight of the first relevant rank. In a tie of m documents, r of them relevant, the chance that none of its
    // first j is relevant is C(m - r, j) / C(m, j); it falls from rank to rank by the chance that the next one is first.
    double first(Ranks& ranks, const Row* row, const Row* end, bool by_id) const {
        Tie tie;
        if (!next(row, end, by_id, &tie)) return 0.0;
        if (plan_.weight == Weight::flat) return shown(tie);
        if (tie.size == 1) return ranks.at(tie.before + 1);
        double total = 0.0, none = 1.0;
        for (int64_t j = 1; j <= tie.size && none > 0.0; ++j) {
            double weight = ranks.at(tie.before + j);
            if (weight == 0.0) break;
            double others = static_cast<double>(std::max<int64_t>(tie.size - tie.relevant - j + 1, 0));
            double still = none * (others / static_cast<double>(tie.size - j + 1));
            total += (none - still) * weight;
            none = still;
        }
        return total;
    }

    // The chance that the cutoff shows a relevant document of this tie: if it shows h of the m documents, the t-th of
    // the relevant ones is the first one shown with chance C(m - t, h - 1) / C(m, h).
    double shown(const Tie& tie) const {
        if (!plan_.cutoff || tie.before + tie.size <= plan_.cutoff) return 1.0;
        if (tie.before >= plan_.cutoff) return 0.0;
        double size = static_cast<double>(tie.size), shown = static_cast<double>(plan_.cutoff - tie.before);
        double chance = shown / size, total = chance;
        for (int64_t t = 1; t < tie.relevant; ++t) {
            double previous = static_cast<double>(t - 1);
            chance *= std::max(size - shown - previous, 0.0) / std::max(size - previous - 1.0, 1.0);
            total += chance;
        }
        return total;
    }

    // The sum over relevant documents of 1 - min(other judged ones above, R) / min(N, R).
    double preference(size_t q, const Row* row, const Row* end) const {
        double total = 0.0;
        int64_t above = 0, relevant = relevant_[q], least = std::max<int64_t>(std::min(other_[q], relevant), 1);
        for (; row < end; ++row) {
            size_t document = size_t(row->document);
            if (worth_[document] == 0.0)
                above += !ignored_[document];
            else
                total += 1.0 - static_cast<double>(std::min(above, relevant)) / static_cast<double>(least);
        }
        return total;
    }

    // The largest precision from the rank on at which the share p of the relevant documents is found.
    double interpolated(size_t q, const Row* row, const Row* end) const {
        double share = plan_.p * static_cast<double>(relevant_[q]), below = std::floor(share), best = 0.0;
        double wanted = std::max(below + (share - below >= 0.5 ? 1.0 : 0.0), 1.0), found = 0.0;
        for (; row < end; ++row) {
            if (worth_[size_t(row->document)] == 0.0) continue;
            found += 1.0;
            if (found >= wanted) best = std::max(best, found / row->docid_rank);
        }
        return best;
    }
};

// How many of the first ten documents are judged, to the nearest whole number where a tie leaves it open.
inline int64_t judged_in_ten(const Row* row, const Row* end) {
    double judged = 0.0;
    for (; row < end && row->first <= 10; ++row) {
        int32_t span = row->last - row->first + 1;
        judged += static_cast<double>(std::min(11 - row->first, span)) / span;
    }
    return std::llrint(judged);
}

// The lists that a scanner has closed, one after another: judged documents in the first ten, and scores plan by plan.
inline void score_lists(const std::vector<Scoring>& scorings, const std::vector<int32_t>& query,
                        const std::vector<int64_t>& offsets, const std::vector<Row>& rows, bool by_id,
                        std::vector<int64_t>& judged, std::vector<double>& scores) {
    for (size_t i = 0; i < query.size(); ++i)
        judged.push_back(judged_in_ten(rows.data() + offsets[i], rows.data() + offsets[i + 1]));
    for (const Scoring& scoring : scorings) {
        Ranks ranks(scoring.plan());
        for (size_t i = 0; i < query.size(); ++i)
            scores.push_back(scoring.score(ranks, static_cast<size_t>(query[i]), rows.data() + offsets[i],
                                           rows.data() + offsets[i + 1], by_id));
    }
}

}  // namespace calipers
