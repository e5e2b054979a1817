#include "text/general_categories.hpp"

#include <array>
#include <cstdint>

namespace psc {

namespace {

// In the order of their letters in the list: A to Z, a to d.
constexpr std::array<std::array<std::string_view, 3>, 30> kCategoryNames{{
    {"Lu", "Uppercase_Letter", ""},    {"Ll", "Lowercase_Letter", ""},  {"Lt", "Titlecase_Letter", ""},
    {"Lm", "Modifier_Letter", ""},     {"Lo", "Other_Letter", ""},      {"Mn", "Nonspacing_Mark", ""},
    {"Mc", "Spacing_Mark", ""},        {"Me", "Enclosing_Mark", ""},    {"Nd", "Decimal_Number", "digit"},
    {"Nl", "Letter_Number", ""},       {"No", "Other_Number", ""},      {"Pc", "Connector_Punctuation", ""},
    {"Pd", "Dash_Punctuation", ""},    {"Ps", "Open_Punctuation", ""},  {"Pe", "Close_Punctuation", ""},
    {"Pi", "Initial_Punctuation", ""}, {"Pf", "Final_Punctuation", ""}, {"Po", "Other_Punctuation", ""},
    {"Sm", "Math_Symbol", ""},         {"Sc", "Currency_Symbol", ""},   {"Sk", "Modifier_Symbol", ""},
    {"So", "Other_Symbol", ""},        {"Zs", "Space_Separator", ""},   {"Zl", "Line_Separator", ""},
    {"Zp", "Paragraph_Separator", ""}, {"Cc", "Control", "cntrl"},      {"Cf", "Format", ""},
    {"Cs", "Surrogate", ""},           {"Co", "Private_Use", ""},       {"Cn", "Unassigned", ""},
}};

// What several categories are together: those whose short names begin with the letter.
constexpr std::array<std::array<std::string_view, 3>, 7> kCategoryGroups{{
    {"L", "Letter", ""},
    {"M", "Mark", "Combining_Mark"},
    {"N", "Number", ""},
    {"P", "Punctuation", "punct"},
    {"S", "Symbol", ""},
    {"Z", "Separator", ""},
    {"C", "Other", ""},
}};

// A digit of base 32 is one of 0 to 9 and e to z; a run without any is of one code point.
constexpr std::string_view kCategoryRuns =
    "Z10WR3TR3NORSRMR2IeR2S3R2AuNROULUBuNSOSZ11WRT4VRUVEPSaVUVSK2UBR2UKEQK3RArSA7BsSB8ABABABABABABABABABABABABABABABABABABABABABA"
    "BABABABABABAB2ABABABABABABABAB2ABABABABABABABABABABABABABABABABABABABABABABABA2BABAB3A2BABA2BA3B2A4BA2BA3B3A2BA2BABABA2BAB2A"
    "BA2BA3BABA2B2EAB3E4ACBACBACBABABABABABABABAB2ABABABABABABABABAB2ACBABA3BABABABABABABABABABABABABABABABABABABABABABABABABABAB"
    "ABABAB7A2BA2B2ABA4BABABABAB25EBvDmU4DgUiD5U7DUDUlF3kABABDUABd2DB3RAd4U2ARA3dAdA2BAldA9B13AB2A3B3ABABABABABABABABABABABAB5ABS"
    "ABA2B2A1nB1kABABABABABABABABABABABABABABABABABVF5H2ABABABABABABABABABABABABABABABABABABABABABABABABABABABA2BABABABABABAB2ABA"
    "BABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABdA16d2DR6B19RMd2V2TdF1hMFRF2RF2"
    "RFd8Evd4E4R2dfa6S3R2TR2V2FfRaR3E10DEeFpIeR4E2FE33REF7aVF6D2F2VF4E2IeE3V2ERidaEFEyFvd2E2tFfEdiIeE11F9D2VR3Dd2FT2EqF4DF9DF3DF5"
    "d2RjdEtF3d2RdEfd5EsUE6da2d6F8E19DFsaF10GE1qFGFEG3F8G4FG2EF7EeF2R2IeRDEjFG2dE8d2E2d2EqdE7dEd3E4d2FEG3F4d2G2d2G2FEd8Gd4E2dE3F2"
    "d2IeE2T2K6VTERFd2F2GdE6d4E2d2EqdE7dE2dE2dE2d2FdG3F2d4F2d2F3d3Fd7E4dEd7IeF2E3FRdeF2GdE9dE3dEqdE7dE2dE5d2FEG3F5dF2GdG2Fd2EdjE2"
    "F2d2IeRTd7EF6dFG2dE8d2E2d2EqdE7dE2dE5d2FEGFGF4d2G2d2G2Fd7F2Gd4E2dE3F2d2IeVEK6deFEdE6d3E3dE4d3E2dEdE2d3E2d3E3d3Egd4G2FG2d3G3d"
    "G3Fd2Ed6GdiIeK3V6TVd5FG3FE8dE3dErdEkd2FEF3G4dF3dF4d7F2dE3d2Ed2E2F2d2Ied7RK7VEFG2RE8dE3dErdEedE5d2FEGFG5dFG2dG2F2d7G2d6E2dE2F"
    "2d2IedE2dhF2G2E9dE3dE19F2EG3F4dG3dG3FEVd4E3GK7E3F2d2IeK9VE6dFG2dEmd3EsdE9dEd2E7d3Fd4G3F3dFdG8d6Ied2G2RdgE1kFE2F7d4TE6DF8RIeR"
    "2d15E2dEdE5dEsdEdEeFE2F9Ed2E5dDdF6d2Ied2E4d10EV3RjVRV3F2V6IeKeVFVFVFNONOG2E8dE14d4FiGF5RF2E5FfdF14dV8FV6dV2R5V4R2d15E1fG2F4G"
    "F6GF2G2F2EIeR6E6G2F2E4F3EG3E2G7E3F4EhFG2F2G6FEGIeG3FV2A16dAd5Ad2B1fRDB3Ee9dE4d2E7dEdE4d2E19dE4d2E11dE4d2E7dEdE4d2EjdE1tdE4d2"
    "E23d2F3R9Kod3EkVed6A2qd2B6d2MEngVRElWEuNOd3E2fR3J3E8d7EmF3Gd9EnF2GR2d9EmF2dgEhdE3dF2dgE1oF2GF7G8FG2FfR3DR3TEFd2Ied6Ked6R6MR4"
    "F3aFIed6E13DE1pd7E5F2E12FEd5E26deEzdF3G4F2G3d4G2FG6F3d4Vd3R2IeEyd2E5dfE1gd4Eud6IeKd3V12ErF2G2Fd2R2E1pGFGF7dFGFG2F8G6Fed2FIed"
    "6Ied6R7DR6d2FiHFkd1lF4GE1jFGF5GFG5FG2E8d3IeR7VeF9V9R2dF2GEyGF4G2F2GF3E2IeE1gFGF2G3FGF3G2d8R4E14G8F8G2F2d3R5Ied3E3IeEyD6R2B9d"
    "7A1fd2A3R8d8F3RFhGF7E4FE6FE2GF2Ed5B1gD1zBhDB12D15F20ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB"
    "ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB9ABABABABABABABABABABABABABABABABABABABABABABA"
    "BABABABABABABABABABABABABABABABABABABABABABABABABABAB9A8B6d2A6d2B8A8B8A8B6d2A6d2B8dAdAdAdAB8A8Bid2B8C8B8C8B8C8B5dB2A4CUBU3B3"
    "dB2A4CU3B4d2B2A4dU3B8A5U3d2B3dB2A4CU2dWfa5M6R2PQNP2QNPR8XYa5WR9PQR4L2R3SNORfSRLReWa5daeKDd2K6S3NODKeS3NOdDhd3T11djFhH4FH3Fgd"
    "jV2AV4AV2BA3B2A3BVAV2SA5V6AVAVAVA4VBA4BE4BV2B2A2S5AB4VSV2BVKkJ13ABJ4KV2d4S5V5S2V4SV2SV2SV7SVzS2V2SVSVzS8gV8NONOVoS2V7NOV2lSV"
    "yStV18S6V25dtVfdpK1wV2iKqV5rSV9SV1qS8V3jSV7sNONONONONONONOKyV1gS5NOSzNONONONONOSkV80S43NONONONONONONONONONONOS1zNONOS10NOS82"
    "V1kSpV2S6V17d2V10dV39A1kB1kABA3B2ABABABA4BAB2AB6D2A3BABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABA"
    "BABABABABABABABABABABABABAB2V6ABABF3ABd5R4KR2B16dBd5Bd2E1sd7DRdiFErd9E7dE7dE7dE7dE7dE7dE7dE7dF10R2PQPQR3PQRPQR9MR2MRPQR2PQNO"
    "NONONOR5DReM2R4MRNRhV2R3NONONONOMd12VudV2tdgV6qduVgd4WR3VDEJNONONONONOV2NONONONOMNO2VJ9F4G2MD5V2J3DERV2dE2qd2F2U2D2EME2uRD3E"
    "d5E1fdE2ydV2K4VeE10V14dgEkVzdKeVyK8VKjV10KeV17KjVe0E6i0V20EokpDE13rd3V1rd9E18D6R2E8gDR3EkIeE2doABABABABABABABABABABABABABABA"
    "BABABABABABABABABEFH3RFeRDABABABABABABABABABABABABABABD2F2E26JeF2R6d8UrD9U2ABABABABABABAB3ABABABABABABABABABABABABABABABABAB"
    "ABABABABABABABABABABABABABABDB8ABABA2BABABABABDU2ABABEABAB3ABABABABABABABABABABA5BA5BABABABABABABABA4BABd5ABdBdBABABdsD3ABED"
    "2BE7FE3FE4FErG2F2GV4Fd3K6V2TVd6E1oR4d8G2E1mGkF2d8R2Ied6FmE6R3ERE2FIeEwF8R2ErFfG2dfRExd3F3GE1jFG2F4G2F2G3RhdDIed4R2E5FDE9IeE5"
    "dE19F6G2F2G2F2d9E3FE8FGd2Ied2R4EkDE6V3EGFGE1mFEF3E2F2E5F2EFEdsE2DR2EfGF2G2R2ED2GFdeE6d2E6d2E6d9E7dE7dB1fUD4B9DU2d4B2kE13G2FG"
    "2FG2RGFd2Ied6Eex4dgErd4E1ld4b200c680Efid2E3ed16B7dgB5d5EFEeSEhdE5dEdE2dE2dE3gUldkEffONVkE20d2E1qd7Vd10EgTV3FkR7NORd6FkRM2L2N"
    "ONONONONONONONOR2NOR4L3R3dR4MNONONOR3SMS3dRTR2d4E5dE47d2adR3TR3NORSRMR2IeR2S3R2AuNROULUBuNSOSNORNOR2EeDE1hD2Ezd3E6d2E6d2E6d2"
    "E3d3T2SUVT2dVS4V2dea3V2d2EgdEudEndE2dEjd2Eid12E3vd5R3d4K1hd3V9J1pK4VlK2V3dVhd3Vd1jV1hFd42Exd3E1ldjFKvd4E10K4d9EoJE8Jd5E16F5d"
    "5EydRE14d4E8RJ5d1eA18B18E2id2Ied6A14d4B14d4E18d8E1odfRAfdAjdA7dA2dBfdBjdB7dB2d23E9rd9EqdeE8dsD6dD1edD9d25E6d2EdE1gdE2d3Ed2Er"
    "dRK8ErV2K7Ezd8K9d1kEndE2d5K5EqK6d3REud5Rd20E1sd4K2E2Kkd2K1iEF3dF2d5F4E4dE3dExd2F3d4FK9d7R9d7ExK2RExK3d10E8VEwF2d4K5R7d9E1qd3"
    "R7Eqd2K8End5K8Emd7R4dgK7d2kE29d1rA1ndhB1nd7K6E14F4d8Ied96KzdE1edF2Md2E2d2iExKeEd8EqFfK4R5dqEmF4R4d16EpK7doErd9GFGE1pFjR7d4Ko"
    "IeFE2F2Ed9F3GE1hG3F4G2F2R2aR4Fdead2Etd7Ied6F3E14F5GF8dIeR4EG2Ed8E13FR2Ed9F2GE1kG3F9G2E4R4F4RGFIeERER3dKodfEmdEtG3F3G2FGF2R6F"
    "d21E7dEdE4dEjdEeRd6E1jFG3F8d5Ied6F2G2dE8d2E2d2EqdE7dE2dE5dF2EG2FG4d2G2d2G3d2Ed6Gd5E5G2d2F7d3F5d4fE1pG3F8G2F3GFE4R5IeR2dRFE3d"
    "yE1kG3F6GFG4F2GF2E2REd8Ied56E1jG3F4d2G4F2GF2RrE4F2d12E1kG3F8G2FGF2R3EdfIed6RhdnE1fFGFG2F6GFERd6Ied1qEvd2F3G2F4GF5d4IeK2R3VE7"
    "d5tE1gG3F9GF2Rd34A10B10IeK9dgE8d2Ed2E8dE2dEsG6dG2d2F2GFEGEGFR3d9Ied26E8d2E17G3F4d2F2G4FEREGdvEFeE18F6GEF4R8Fd8EF6G2F3E1iFhGF"
    "2R3ER5dhE29d87E9dE15GF7dF6GFER5deIeKnd3R2Eyd2FqdGF7GF2GF2d29E7dE2dE16F6d3FdF2dF7EFd8Ied6E6dE2dE10G5dF2dG2FGFEd7Ied9qEnF2G2R2"
    "d5rEdjKpV8T4VldhREwud36J3jdR5dfE64d2mgE31R2dhE11jda9d3y7Em7d8htEltd7EzdIed4R2E2jdIed6Eyd2F5RdeE1kF7R5V4D4RVdeIedK7dEpd5Endpk"
    "A10B10KrR4d35E2fd4FEG1rd7F4Dhd20D2RDFdfG2diE5zsd8E16qd1eE9d8r7D4dD7dD2dE93d1hE3dlE4d8Eggd284E3fd5Ehd3E9d7Eed2VF2Ra4d4mwF1id2"
    "Frd9V3od1wV7qdeV17d2V1wG2F3V3G6a8F8V2F7VyF4V1xdpV22F3Vd4uKodgV2rd9Ktd47AuBuAuB7dBmAuBuAdA2d2Ad2A2d2A4dA8B4dBdB7dBfAuBuA2dA4d"
    "2A8dA7dBuA2dA4dA5dAd3A7dBuAuBuAuBuAuBuAuBuAuBuAuBwd2AtSBtSB6AtSBtSB6AtSBtSB6AtSBtSB6AtSBtSB6ABd2I1mVk0F1rV4F1mV8FViFV2R5djF5"
    "dFjd12kBeEBod71F7dFld2F7dF2dF5d6pE1hd3F7D7d2Ied4EVde0EyFdlE1gF4Ied5Td170E7dE4dE2dEjdE65d2K9F7d19A12B12F7Dd4Ied4R2dslK1vVK3TK"
    "4d2gK1hVKjd62E4dEvdE2dEd2EdEedE4dEdEd6Ed4EdEdEdE3dE2dEd2EdEdEdEdEdE2dEd2E4dE7dE4dE4dEdEedEld5E3dE5dEld1oS2d8iV1gd4V34dgVjd2V"
    "jdVjdV15deKhV51d1sVxdhV1gd4V9d7V2diV6d4uV7vU5Vqsd5Vkd3Vhd3V3odgV2td7Vgd4VdjVgd4V1sd8Ved6V18d8Vyd2V2d2iVeodgVid2V5d3V5d3V7d9V"
    "xd3Vfd5V6deVed6V8d8V7d9V4ndV1rd15Ied106E19r0d10E41td7E6yd2E5o2diE79ld30zEkyd1j2E4ufdpv5qadya30d40F7kd1zkkc1zzyd2c1zzyd2";

constexpr std::uint32_t kUnassigned = std::uint32_t{1} << 29;

template <class Names>
bool is_named(const Names& names, std::string_view name) {
    for (const std::string_view known : names)
        if (!name.empty() && known == name) return true;
    return false;
}

// Bits of the categories that a name stands for.
std::uint32_t category_bits(std::string_view name) {
    std::uint32_t bits = 0;
    for (const auto& group : kCategoryGroups)
        if (is_named(group, name))
            for (std::size_t i = 0; i < kCategoryNames.size(); ++i)
                if (kCategoryNames[i][0][0] == group[0][0]) bits |= std::uint32_t{1} << i;
    for (std::size_t i = 0; i < kCategoryNames.size(); ++i)
        if (is_named(kCategoryNames[i], name)) bits |= std::uint32_t{1} << i;
    if (name == "LC" || name == "Cased_Letter") bits = 0b111;
    return bits;
}

CodePointSet with_categories(std::uint32_t bits) {
    CodePointSet set;
    Word from = 0;
    for (std::size_t i = 0; i < kCategoryRuns.size();) {
        const char letter = kCategoryRuns[i++];
        const int category = letter >= 'a' ? letter - 'a' + 26 : letter - 'A';
        Word length = 0;
        for (; i < kCategoryRuns.size(); ++i) {
            const char digit = kCategoryRuns[i];
            if (digit >= '0' && digit <= '9')
                length = length * 32 + (digit - '0');
            else if (digit >= 'e' && digit <= 'z')
                length = length * 32 + (digit - 'e') + 10;
            else
                break;
        }
        if (length == 0) length = 1;
        if (bits >> category & 1) {
            if (!set.empty() && set.back() == from - 1)
                set.back() = from + length - 1;
            else
                set.insert(set.end(), {from, from + length - 1});
        }
        from += length;
    }
    return set;
}

}  // namespace

std::optional<CodePointSet> general_category(std::string_view name) {
    if (name == "Any") return CodePointSet{0, 0x10FFFF};
    if (name == "ASCII") return CodePointSet{0, 0x7F};
    if (name == "Assigned") return with_categories(~kUnassigned);
    for (const std::string_view key : {"General_Category=", "gc="})
        if (name.starts_with(key)) {
            name.remove_prefix(key.size());
            break;
        }
    const std::uint32_t bits = category_bits(name);
    if (bits == 0) return std::nullopt;
    return with_categories(bits);
}

}  // namespace psc
