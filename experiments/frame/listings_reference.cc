#include "experiments/frame/listings_reference.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace softlookup {
namespace {

constexpr char kReference[] =
#include "experiments/frame/listings_pytorch.inc"
    ;

}  // namespace

absl::StatusOr<Json> ListingReference(const std::string& listing) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json reference,
                              ParseJson(kReference, "listings_pytorch.json"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const Json* values,
      ResolvePointer(reference, absl::StrCat("/values/", listing)));
  Json record;
  record["version"] = reference["provenance"]["torch"];
  record.update(*values);
  return record;
}

}  // namespace softlookup
