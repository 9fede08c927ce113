package types

import (
	"strconv"
	"strings"
	"sync"
)

// The abbreviations of time zones that are read, PostgreSQL's default set. Some
// have one offset for ever; others have changed it, and mean what they meant in
// their zone at the time in question.

// fixedAbbrevs has minutes east of Greenwich; d marks a summer time.
const fixedAbbrevs = `acdt 630d, acsst 630d, acst 570, act -300, acwst 525, adt -180d, aedt 660d, aesst 660d, aest 600,
aft 270, akdt -480d, akst -540, almst 420d, almt 360, amt -240, ast -240, awsst 540d, awst 480,
azost 0d, azot -60, bdst 120d, bdt 360, bnt 480, bort 480, bot -240, bra -180, brst -120d, brt -180,
bst 60d, btt 360, cadt 630d, cast 570, cct 480, cdt -300d, cest 120d, cet 60, cetdst 120d, chadt
825d, chast 765, chut 600, clst -180d, cot -300, cst -360, cxt 420, ddut 600, eat 180, edt -240d,
eest 180d, eet 120, eetdst 180d, egst 0d, egt -60, est -300, fet 180, fjst 780d, fjt 720, fnst -60d,
fnt -120, galt -360, gamt -540, gft -180, gilt 720, gmt 0, hkt 480, hst -600, ict 420, idt 180d, irt
210, ist 120, jayt 540, jst 540, kdt 600d, kgst 360d, kst 540, lhst 630, ligt 600, mart -570, mdt
-360d, mest 120d, mesz 120d, met 60, metdst 120d, mez 60, mht 720, mmt 390, mpt 600, msd 240d, mst
-420, must 300d, mut 240, mvt 300, myt 480, ndt -150d, nft -210, npt 345, nst -210, nzdt 780d, nzst
720, nzt 720, pdt -420d, pet -300, pgt 600, pht 480, pkst 360d, pkt 300, pmdt -120d, pmst -180, pont
660, pst -480, pwt 540, pyst -180d, ret 240, sadt 630d, sast 120, sct 240, taht -600, tft 300, tjt
300, tot 780, trut 600, tvt 720, uct 0, ulast 540d, ut 0, utc 0, uyst -120d, uyt -180, uzst 360d,
uzt 300, vut 660, wadt 480d, wakt 720, wast 420, wat 60, wdt 540d, wet 0, wetdst 60d, wft 720, wgst
-120d, wgt -180, xjt 360, yapt 600, yekst 360d, z 0, zulu 0`

// zoneOfAbbrev names the zones of the others.
const zoneOfAbbrev = `amst Asia/Yerevan, anast Asia/Anadyr, anat Asia/Anadyr, arst America/Argentina/Buenos_Aires, art
America/Argentina/Buenos_Aires, azst Asia/Baku, azt Asia/Baku, ckt Pacific/Rarotonga, clt
America/Santiago, davt Antarctica/Davis, easst Pacific/Easter, east Pacific/Easter, fkst
Atlantic/Stanley, fkt Atlantic/Stanley, gest Asia/Tbilisi, get Asia/Tbilisi, gyt America/Guyana, iot
Indian/Chagos, irkst Asia/Irkutsk, irkt Asia/Irkutsk, kgt Asia/Bishkek, kost Pacific/Kosrae, krast
Asia/Krasnoyarsk, krat Asia/Krasnoyarsk, lhdt Australia/Lord_Howe, lint Pacific/Kiritimati, lkt
Asia/Colombo, magst Asia/Magadan, magt Asia/Magadan, mawt Antarctica/Mawson, msk Europe/Moscow,
novst Asia/Novosibirsk, novt Asia/Novosibirsk, nut Pacific/Niue, omsst Asia/Omsk, omst Asia/Omsk,
petst Asia/Kamchatka, pett Asia/Kamchatka, pyt America/Asuncion, sgt Asia/Singapore, tkt
Pacific/Fakaofo, tmt Asia/Ashgabat, ulat Asia/Ulaanbaatar, vet America/Caracas, vlast
Asia/Vladivostok, vlat Asia/Vladivostok, volt Europe/Volgograd, yakst Asia/Yakutsk, yakt
Asia/Yakutsk, yekt Asia/Yekaterinburg`

// zoneAbbrev is one abbreviation: an offset in seconds, or the zone it belongs to.
type zoneAbbrev struct {
	off    int
	summer bool
	zone   string
}

var zoneAbbrevs = sync.OnceValue(func() map[string]zoneAbbrev {
	all := make(map[string]zoneAbbrev, 256)
	for _, e := range strings.Split(fixedAbbrevs, ",") {
		f := strings.Fields(e)
		n, _ := strconv.Atoi(strings.TrimSuffix(f[1], "d"))
		all[f[0]] = zoneAbbrev{off: n * 60, summer: strings.HasSuffix(f[1], "d")}
	}
	for _, e := range strings.Split(zoneOfAbbrev, ",") {
		f := strings.Fields(e)
		all[f[0]] = zoneAbbrev{zone: f[1]}
	}
	return all
})

// abbrevZone is the zone of an abbreviation in lower case, nil if it is none.
func abbrevZone(name string) *Zone {
	a, ok := zoneAbbrevs()[name]
	switch upper := strings.ToUpper(name); {
	case !ok:
		return nil
	case a.zone == "":
		return FixedZone(upper, a.off)
	default:
		z := loadNamed(a.zone)
		if z != nil {
			z.meaning = upper
		}
		return z
	}
}

// meant is the offset that the zone's abbreviation had last at or before sec, or
// first after it; the zone's own offset if it never had it.
func (z *Zone) meant(sec int64) int {
	at := z.span(sec)
	for s := at; ; s = z.span(s.from - 1) {
		if s.abbrev == z.meaning {
			return s.off
		}
		if s.from <= -1<<61 {
			break
		}
	}
	for s := at; s.to < 1<<61 && s.to < 1<<40; s = z.span(s.to) {
		if s.abbrev == z.meaning {
			return s.off
		}
	}
	return at.off
}
