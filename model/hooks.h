// Reading and changing what a transformer computes, by TransformerLens's names.
//
//   ActivationCache<float> cache({"blocks.0.attn.hook_pattern"});
//   SOFTLOOKUP_RETURN_IF_ERROR(model.Forward(weights, tokens, memory, &cache));
//   const Tensor<float>& pattern = cache.at("blocks.0.attn.hook_pattern");
//
//   // Zero a head's output, before W_O.
//   Interventions<float> ablation;
//   ablation.Add("blocks.1.attn.hook_z", [](StridedView<float> z) {
//     ForEachElement([](float& x) { x = 0; }, z.Slice(2, 0, 1));
//   });
//
// The points, in the order in which a pass comes to them (layer i):
//
//   hook_embed                       [B, T, d]    W_E[token]
//   hook_pos_embed                   [B, T, d]    W_pos, where learned
//   blocks.i.hook_resid_pre          [B, T, d]
//   blocks.i.ln1.hook_normalized     [B, T, d]    with a norm: its output
//   blocks.i.attn.hook_q             [B, T, H, D] before rotation and smearing
//   blocks.i.attn.hook_k, hook_v     [B, T, Hkv, D]
//   blocks.i.attn.hook_pattern       [B, H, T, T] the weights
//   blocks.i.attn.hook_z             [B, T, H, D] before W_O
//   blocks.i.hook_attn_out           [B, T, d]    the write of attention
//   blocks.i.hook_resid_mid          [B, T, d]    with an MLP
//   blocks.i.ln2.hook_normalized     [B, T, d]
//   blocks.i.mlp.hook_pre, hook_post [B, T, m]
//   blocks.i.hook_mlp_out            [B, T, d]
//   blocks.i.hook_resid_post         [B, T, d]
//   ln_final.hook_normalized         [B, T, d]
//
// Reading changes no bit of anything: what only a reader wants (the pattern,
// the write of a branch) is computed beside what the model goes on with. An
// edited pattern is what the values are then mixed with.
#ifndef SOFTLOOKUP_MODEL_HOOKS_H_
#define SOFTLOOKUP_MODEL_HOOKS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/config.h"

namespace softlookup {

// Every point of a model of this config, in order.
std::vector<std::string> HookNames(const ModelConfig& config);

// What a pass asks and tells. T is float or double.
template <typename T>
class Hooks {
 public:
  virtual ~Hooks() = default;
  // The points that are read or edited: a pass refuses others than its own.
  virtual std::set<std::string> Names() const = 0;
  // Whether it changes what stands at this point: then a pass calls Edit
  // there, otherwise Read.
  virtual bool Edits(const std::string& name) const = 0;
  virtual void Read(const std::string& name,
                    const StridedView<const T>& activation) = 0;
  virtual void Edit(const std::string& name,
                    const StridedView<T>& activation) = 0;
};

// Keeps copies of activations.
template <typename T>
class ActivationCache : public Hooks<T> {
 public:
  explicit ActivationCache(std::set<std::string> names)
      : names_(std::move(names)) {}

  // CHECKs that it was asked for and that a pass has come by.
  const Tensor<T>& at(const std::string& name) const {
    const auto found = kept_.find(name);
    SOFTLOOKUP_CHECK(found != kept_.end(), "an activation that is kept");
    return found->second;
  }

  std::set<std::string> Names() const override { return names_; }
  bool Edits(const std::string&) const override { return false; }
  void Read(const std::string& name,
            const StridedView<const T>& activation) override {
    kept_[name] = Copy(activation);
  }
  void Edit(const std::string& name,
            const StridedView<T>& activation) override {
    Read(name, activation);
  }

 private:
  std::set<std::string> names_;
  std::map<std::string, Tensor<T>> kept_;
};

// Changes activations in place, by any function.
template <typename T>
class Interventions : public Hooks<T> {
 public:
  using Function = std::function<void(StridedView<T>)>;

  // Several at one point run in the order in which they were added.
  void Add(const std::string& name, Function function) {
    functions_[name].push_back(std::move(function));
  }

  std::set<std::string> Names() const override {
    std::set<std::string> names;
    for (const auto& [name, functions] : functions_) names.insert(name);
    return names;
  }
  bool Edits(const std::string& name) const override {
    return functions_.count(name) > 0;
  }
  void Read(const std::string&, const StridedView<const T>&) override {}
  void Edit(const std::string& name,
            const StridedView<T>& activation) override {
    for (const Function& function : functions_.at(name)) function(activation);
  }

 private:
  std::map<std::string, std::vector<Function>> functions_;
};

// Several hooks on one pass; at a point each comes after those before it. A
// reader that shares a point with an editor before it reads what was edited.
template <typename T>
class JoinedHooks : public Hooks<T> {
 public:
  // The hooks must outlive it.
  explicit JoinedHooks(std::vector<Hooks<T>*> hooks)
      : hooks_(std::move(hooks)) {}

  std::set<std::string> Names() const override {
    std::set<std::string> names;
    for (const Hooks<T>* hooks : hooks_) names.merge(hooks->Names());
    return names;
  }
  bool Edits(const std::string& name) const override {
    for (const Hooks<T>* hooks : hooks_) {
      if (hooks->Edits(name)) return true;
    }
    return false;
  }
  void Read(const std::string& name,
            const StridedView<const T>& activation) override {
    for (Hooks<T>* hooks : hooks_) {
      if (hooks->Names().count(name) > 0) hooks->Read(name, activation);
    }
  }
  void Edit(const std::string& name,
            const StridedView<T>& activation) override {
    for (Hooks<T>* hooks : hooks_) {
      if (hooks->Names().count(name) == 0) continue;
      if (hooks->Edits(name)) {
        hooks->Edit(name, activation);
      } else {
        hooks->Read(name, activation);
      }
    }
  }

 private:
  std::vector<Hooks<T>*> hooks_;
};

// InvalidArgument for a name that is no point of such a model, with those that
// there are.
absl::Status CheckHookNames(const ModelConfig& config,
                            const std::set<std::string>& names);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_HOOKS_H_
