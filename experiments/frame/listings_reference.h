// What PyTorch does in the chapter's two listings, compiled into the program.
//
// testdata/reference/make_listings.py asks PyTorch; the file's own
// "provenance" says which version. These are values from outside: the chapter
// says how PyTorch behaves, and only PyTorch can confirm that. No published
// value is among them.
#ifndef SOFTLOOKUP_EXPERIMENTS_FRAME_LISTINGS_REFERENCE_H_
#define SOFTLOOKUP_EXPERIMENTS_FRAME_LISTINGS_REFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

// The record of one listing, "masking" or "multi_head", with PyTorch's
// "version" in front. NotFound for another name.
absl::StatusOr<Json> ListingReference(const std::string& listing);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_FRAME_LISTINGS_REFERENCE_H_
