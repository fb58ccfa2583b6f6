#include "encore/ir/support/testing/wire_mutations.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/testing/byte_mutations.h"

namespace encore {
namespace {

enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr uint64_t kMostNumber = (uint64_t{1} << 29) - 1;

struct Field {
  uint64_t number;
  Type type;
  // Of fixed-width fields the bytes themselves.
  uint64_t integer;
  std::string payload;
};

using Fields = std::vector<Field>;

// Nothing where a field is not whole, or there is none.
std::optional<Fields> FieldsOf(std::string_view message) {
  Fields fields;
  ByteReader in(message);
  while (!in.done()) {
    const uint64_t tag = in.Varint();
    Field field{.number = tag >> 3,
                .type = static_cast<Type>(tag & 7),
                .integer = 0,
                .payload = {}};
    if (field.number == 0 || field.number > kMostNumber) return std::nullopt;
    switch (field.type) {
      case kVarint:
        field.integer = in.Varint();
        break;
      case kFixed64:
        field.payload = in.Raw(8);
        break;
      case kBytes:
        field.payload = in.String();
        break;
      case kFixed32:
        field.payload = in.Raw(4);
        break;
      default:
        return std::nullopt;
    }
    if (!in.ok()) return std::nullopt;
    fields.push_back(std::move(field));
  }
  if (fields.empty()) return std::nullopt;
  return fields;
}

void Write(const Field& field, ByteWriter* out) {
  out->Varint(field.number << 3 | field.type);
  if (field.type == kVarint) {
    out->Varint(field.integer);
  } else if (field.type == kBytes) {
    out->String(field.payload);
  } else {
    out->Raw(field.payload);
  }
}

// As many of the fields as fit.
std::string MessageOf(const Fields& fields, size_t max_size = SIZE_MAX) {
  ByteWriter out;
  for (const Field& field : fields) {
    ByteWriter one;
    Write(field, &one);
    if (out.str().size() + one.str().size() <= max_size) out.Raw(one.str());
  }
  return out.Take();
}

// What was made where it fits, else what of the original does.
std::string Fitting(const Fields& made, const Fields& original,
                    size_t max_size) {
  std::string message = MessageOf(made);
  if (message.size() <= max_size) return message;
  return MessageOf(original, max_size);
}

// One of the fields, the longer the likelier, or each as likely.
size_t PickField(const Fields& fields, std::mt19937& random) {
  if (random() % 2 == 0) return random() % fields.size();
  size_t all = 0;
  for (const Field& field : fields) all += field.payload.size() + 1;
  size_t at = random() % all;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t size = fields[i].payload.size() + 1;
    if (at < size) return i;
    at -= size;
  }
  return 0;
}

// A field of a message in messages, and what it is in: the outermost first.
struct Place {
  struct Level {
    Fields fields;
    size_t index;
  };
  std::vector<Level> levels;

  Fields& fields() { return levels.back().fields; }
  Field& field() { return fields()[levels.back().index]; }
};

Place PickPlace(Fields fields, std::mt19937& random) {
  Place place;
  for (std::optional<Fields> inner = std::move(fields); inner.has_value();) {
    const size_t index = PickField(*inner, random);
    place.levels.push_back({*std::move(inner), index});
    const Field& field = place.field();
    inner.reset();
    if (field.type == kBytes && random() % 6 != 0) {
      inner = FieldsOf(field.payload);
    }
  }
  return place;
}

// The whole message, with what the innermost level is by now.
Fields Whole(Place place) {
  while (place.levels.size() > 1) {
    const std::string inner = MessageOf(place.fields());
    place.levels.pop_back();
    place.field() = {place.field().number, kBytes, 0, inner};
  }
  return std::move(place.fields());
}

void MutateValue(Field* field, const Field& other, std::mt19937& random) {
  if (field->type == kVarint) {
    field->integer = random() % 4 == 0 ? other.integer
                                       : HostileInteger(field->integer, random);
    return;
  }
  if (field->type == kBytes) {
    switch (random() % 4) {
      case 0:
        field->payload = other.payload;
        return;
      case 1:
        field->payload.clear();
        return;
      default:
        MutateBytes(&field->payload, field->payload.size() + 64, random);
        return;
    }
  }
  uint64_t word = 0;
  for (size_t i = field->payload.size(); i-- > 0;) {
    word = word << 8 | static_cast<uint8_t>(field->payload[i]);
  }
  word = HostileInteger(word, random);
  for (char& byte : field->payload) {
    byte = static_cast<char>(word);
    word >>= 8;
  }
}

// A list of integers is written as one field each or as all in one field.
void ChangeType(Field* field) {
  if (field->type == kVarint) {
    ByteWriter out;
    out.Varint(field->integer);
    *field = {field->number, kBytes, 0, out.Take()};
  } else {
    *field = {field->number, kVarint, field->payload.size(), {}};
  }
}

// The message around the field in its place, and so on.
void Nest(Place* place, size_t max_size, std::mt19937& random) {
  const Fields around = place->fields();
  const size_t index = place->levels.back().index;
  size_t size = MessageOf(Whole(*place)).size();
  const size_t each = MessageOf(around).size() + 4;
  for (size_t left = size_t{1} << random() % 9;
       left > 0 && size + each < max_size; --left, size += each) {
    place->levels.push_back({around, index});
  }
}

void MutateAt(Place* place, const Field& other, size_t max_size,
              std::mt19937& random) {
  Fields& fields = place->fields();
  const size_t index = place->levels.back().index;
  const auto at = fields.begin() + static_cast<ptrdiff_t>(index);
  const auto to =
      fields.begin() + static_cast<ptrdiff_t>(random() % (fields.size() + 1));
  switch (random() % 12) {
    case 0:
      fields.erase(at);
      break;
    case 1:
      fields.insert(to, size_t{1} << random() % 4, Field(*at));
      break;
    case 2:
      std::swap(*at, fields[random() % fields.size()]);
      break;
    case 3:
      fields.insert(to, other);
      break;
    case 4:
      *at = {at->number, other.type, other.integer, other.payload};
      break;
    case 5:
      at->number = random() % 2 == 0
                       ? random() % 32 + 1
                       : HostileInteger(at->number, random) % kMostNumber + 1;
      break;
    case 6:
      ChangeType(&*at);
      break;
    case 7:
      Nest(place, max_size, random);
      break;
    default:
      MutateValue(&*at, other, random);
  }
}

}  // namespace

std::string CrossMessages(const std::string& a, const std::string& b,
                          size_t max_size, std::mt19937& random) {
  const auto of_a = FieldsOf(a), of_b = FieldsOf(b);
  if (!of_a || !of_b) return CrossBytes(a, b, max_size, random);
  Place place = PickPlace(*of_a, random), from = PickPlace(*of_b, random);
  Fields& fields = place.fields();
  if (random() % 2 == 0) {
    place.field() = from.field();
  } else {
    fields.insert(
        fields.begin() + static_cast<ptrdiff_t>(random() % (fields.size() + 1)),
        from.field());
  }
  return Fitting(Whole(std::move(place)), *of_a, max_size);
}

std::string MutateMessage(const std::string& message, size_t max_size,
                          std::mt19937& random) {
  const auto fields = FieldsOf(message);
  if (!fields) {
    std::string bytes = message;
    MutateBytes(&bytes, max_size, random);
    return bytes;
  }
  Place place = PickPlace(*fields, random), from = PickPlace(*fields, random);
  MutateAt(&place, from.field(), max_size, random);
  return Fitting(Whole(std::move(place)), *fields, max_size);
}

}  // namespace encore
