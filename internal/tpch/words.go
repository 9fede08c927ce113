package tpch

// The values that the specification names, which the queries' parameters are of.
var (
	regions = []string{"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"}
	nations = []struct {
		name   string
		region int
	}{
		{"ALGERIA", 0}, {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1}, {"EGYPT", 4}, {"ETHIOPIA", 0}, {"FRANCE", 3},
		{"GERMANY", 3}, {"INDIA", 2}, {"INDONESIA", 2}, {"IRAN", 4}, {"IRAQ", 4}, {"JAPAN", 2}, {"JORDAN", 4},
		{"KENYA", 0}, {"MOROCCO", 0}, {"MOZAMBIQUE", 0}, {"PERU", 1}, {"CHINA", 2}, {"ROMANIA", 3}, {"SAUDI ARABIA", 4},
		{"VIETNAM", 2}, {"RUSSIA", 3}, {"UNITED KINGDOM", 3}, {"UNITED STATES", 1},
	}
	segments   = []string{"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"}
	priorities = []string{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"}
	instructs  = []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	modes      = []string{"AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"}
	typeSize   = []string{"ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD"}
	typeFinish = []string{"ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED"}
	typeMetal  = []string{"BRASS", "COPPER", "NICKEL", "STEEL", "TIN"}
	boxSize    = []string{"JUMBO", "LG", "MED", "SM", "WRAP"}
	boxKind    = []string{"BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG"}
)

// colors are what part names are made of. The specification has 92; green and
// forest are the ones that queries ask for.
var colors = []string{
	"amber", "apricot", "aqua", "ash", "auburn", "azure", "bamboo", "beige", "bone", "brick", "bronze", "brown",
	"buff", "butter", "camel", "caramel", "carmine", "celadon", "chalk", "charcoal", "cherry", "chestnut", "cinnamon",
	"claret", "clay", "cobalt", "cocoa", "copper", "coral", "cream", "crimson", "cyan", "denim", "ebony", "ecru",
	"emerald", "fawn", "flax", "forest", "fuchsia", "ginger", "gold", "granite", "graphite", "green", "hazel", "honey",
	"indigo", "ivory", "jade", "khaki", "lapis", "lavender", "lead", "lemon", "lilac", "lime", "linen", "magenta",
	"mahogany", "maroon", "mauve", "mint", "moss", "mustard", "navy", "ocher", "olive", "onyx", "opal", "orange",
	"orchid", "peach", "pearl", "pewter", "pine", "plum", "purple", "rose", "ruby", "russet", "rust", "sable", "sand",
	"scarlet", "sepia", "silver", "slate", "teal", "umber", "violet", "white",
}

// The words of comments.
var (
	things = []string{
		"orders", "requests", "parcels", "accounts", "invoices", "offers", "crates", "ledgers", "clerks", "prices",
		"pallets", "terms", "receipts", "buyers", "claims", "routes", "samples", "labels", "stocks", "dealers",
		"depots", "drafts", "tariffs", "quotas", "bids", "ships", "wagons", "bundles", "notes", "contracts",
	}
	kinds = []string{
		"special", "urgent", "late", "careful", "quiet", "early", "heavy", "final", "regular", "open", "spare",
		"pending", "fragile", "prompt", "bold", "cheap", "narrow", "steady", "rare", "plain", "double", "sealed",
		"missing", "foreign", "local", "broad", "idle", "exact", "brisk", "modest",
	}
	deeds = []string{
		"wait", "arrive", "leave", "settle", "rest", "differ", "match", "move", "hold", "turn", "gather", "vanish",
		"return", "follow", "linger", "change", "add up", "break", "agree", "travel", "sort", "lapse", "close", "begin",
	}
	manners = []string{
		"slowly", "at once", "by night", "in turn", "as planned", "again", "for now", "on time", "in pairs", "twice",
		"at last", "by rail", "without delay", "in silence", "below cost", "beyond doubt", "under seal", "at sea",
	}
	joints = []string{"before", "after", "while", "because", "although", "where", "unless", "until"}
)
