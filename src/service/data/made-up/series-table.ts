/**
 * The series of a vessel: a line of each group, then its series, one a line. A cell `-` says that there is no such
 * thing; in names, `#` is the number of the cylinder or generator, `##` in two digits.
 *
 * Group: name | source | tag in `flat` | levels in `jsmea` | item in `vis` | verbose item | its `meta` | code, name and
 * text in `maker`.
 * Series: name | levels | code | unit | lowest..highest | scale | cadence | value | notes, then what it has in place of
 * its group's: text | `meta` | name in `maker`.
 *
 * Value: `driver gain offset noise decimals`, `long driver gain offset noise`, `counter driver gain base`,
 * `flag driver above`, `choice [driver] [JSON, …]` or `position`: the rules of templates.ts. A number may have a part that
 * goes with x, the cylinder's own spread or the generator's share of the load: `168+1.6x`.
 * Notes: `grid` (no odd microseconds), `gaps <chance>`, `twice` (some timestamps come twice), `no tag`, `with <secondary
 * item in vis>`.
 *
 * Two receivers, and two masts, share a tag: ids that two series have. The last tanks are known to the maker only, and
 * one of the odd series by nothing but its time series id.
 */
export const SERIES_TABLE = String.raw`
= cylinder | mac | ME Cyl # {name} | MainEngine/Cylinder#/{levels} | 411.1/C101.31-# | 411.1/~propulsion.driver/C101.31-#/~main.engine.cylinder |  | {code}## | {name} cyl#
Exhaust Gas Temp        | ExhaustGas/Outlet/Temp   | TE-16 | °C  | 0..600 | 0.1 | fast   | load 2.55 168+1.6x 3 1  |      | Exhaust gas temperature after cylinder #          | qty-temperature/cnt-exhaust.gas/pos-outlet
Jacket Water Temp       | CoolingWater/Outlet/Temp | TE-21 | °C  | 0..120 | 0.1 | normal | load 0.11 76+0.2x 0.5 1 |      | Jacket cooling water temperature after cylinder # | qty-temperature/cnt-cooling.water/pos-outlet
Piston Cooling Oil Temp | LubOil/Outlet/Temp       | TE-25 | °C  | 0..100 | 0.1 | normal | load 0.13 46+0.2x 0.4 2 | grid | Piston cooling oil temperature after cylinder #   | qty-temperature/cnt-lubricating.oil/pos-outlet
Max Pressure            | Combustion//Press        | PE-31 | bar | 0..220 | 0.1 | normal | load 1.15 52+0.5x 1.2 1 |      | Maximum combustion pressure of cylinder #         | qty-pressure/cnt-gas/state-maximum
Scavenge Box Temp       | ScavengeAir/Inlet/Temp   | TE-45 | °C  | 0..160 | 1   | slow   | load 0.16 34+0.3x 0.5 0 | grid | Scavenge air box temperature of cylinder #        | qty-temperature/cnt-scavenging.air/pos-inlet
= main engine | mac | ME {name} | MainEngine//{levels} | 411.1/C101 | 411.1/~propulsion.driver/C101/~main.engine | qty-{item}/cnt-{content}/pos-{position} | {code} | {name} | Main engine {lower}
Load                         | //Load                             | XE-1001 | %    | 0..110     | 0.01 | fast   | load 1 0 0.4 1
Scavenge Air Press           | ScavengeAir/Inlet/Press            | PE-4001 | bar  | 0..5       | 0.01 | normal | load 0.029 0.1 0.02 3
Scavenge Air Temp            | ScavengeAir/Inlet/Temp             | TE-4001 | °C   | 0..80      | 0.01 | normal | load 0.09 31 0.3 1
Lub Oil Inlet Press          | LubOil/Inlet/Press                 | PE-2501 | bar  | 0..6       | 0.01 | normal | load 0.004 2.1 0.02 3
Lub Oil Inlet Temp           | LubOil/Inlet/Temp                  | TE-2501 | °C   | 0..80      | 0.01 | normal | load 0.03 42 0.3 1
Jacket Water Inlet Press     | CoolingWater/Inlet/Press           | PE-2101 | bar  | 0..8       | 0.01 | normal | load 0.008 3.2 0.03 2
Jacket Water Inlet Temp      | CoolingWater/Inlet/Temp            | TE-2101 | °C   | 0..100     | 0.01 | normal | load 0.04 70 0.3 1
Fuel Oil Inlet Press         | FuelOil/Inlet/Press                | PE-1801 | bar  | 0..15      | 0.01 | normal | load 0.012 6.9 0.05 2
Fuel Oil Inlet Temp          | FuelOil/Inlet/Temp                 | TE-1801 | °C   | 0..160     | 0.01 | normal | load 0.18 112 0.6 1
Fuel Oil Viscosity           | FuelOil/Inlet/Viscosity            | VE-1801 | cSt  | 0..40      | 0.01 | slow   | load -0.02 14.2 0.3 2
Fuel Index                   | FuelOil//Index                     | ZE-1901 | %    | 0..110     | 0.01 | fast   | load 0.92 4 0.5 1
Turbocharger Speed           | Turbocharger//Speed                | SE-5001 | rpm  | 0..20000   | 0.01 | fast   | long load 148 350 25
Turbocharger Gas Inlet Temp  | ExhaustGas/TurbochargerInlet/Temp  | TE-5011 | °C   | 0..650     | 0.01 | normal | load 2.7 181 3 1
Turbocharger Gas Outlet Temp | ExhaustGas/TurbochargerOutlet/Temp | TE-5012 | °C   | 0..500     | 0.01 | normal | load 1.3 162 2 1
Thrust Bearing Temp          | ThrustBearing//Temp                | TE-3501 | °C   | 0..90      | 0.01 | slow   | load 0.13 41 0.4 1
Fuel Oil Consumption         | FuelOil//MassFlow                  | FE-1701 | kg/h | 0..6000    | 0.01 | fast   | fuelRate 1 0 4 2
Fuel Oil Counter             | FuelOil/Inlet/Counter              | FQ-1701 | g    | 0..9.2e18  | 1    | slow   | counter fuelTotal 1000 9007199254740993
Running Hours                | //Hours                            | KQ-1001 | h    | 0..1000000 | 1    | rare   | counter hoursTotal 1 31250
= main engine state | mac | {name} | MainEngine//{levels} | - | - |  | {code} | {name}
ME Running | //Running | XS-1001 | - | - | - | slow | flag rpm 5 | grid | Main engine is running
Maskintelegraf Ærø | - | EOT |  | - | - | slow | choice atSea ["Stop","Stand by","Full ahead"] |  | Engine order telegraph, "bridge" handle |  | TELEGRAPH
= shaft | mac | Shaft {name} | Propulsion/Shaft/{levels} | 412.722-1/C403 | 412.722-1/~propulsion.shafting/C403/~shaft | qty-{item} | {code} | Shaft {name} | Propeller shaft {lower}, torsion meter
Power       | //Power               | JE-6001 | kW  | 0..30000 | 1 | fast   | power 1 0 25 1                       | grid
Speed       | //RotationalFrequency | SE-6001 | rpm | 0..150   | 1 | fast   | rpm 1 0 0.15 2                       | grid
Torque      | //Torque              | WE-6001 | kNm | 0..3500  | 1 | fast   | torque 1 0 3 2                       | grid
Revolutions | //Counter             | SQ-6001 |     | 0..9e18  | 1 | normal | counter revolutionsTotal 1 412000311 | grid
Thrust      | //Thrust              | WE-6002 | kN  | 0..2500  | 1 | fast   | power 0.058 0 4 1                    | grid, gaps 0.05
= navigation | nav | {name} | Navigation/{levels} | - | - |  | {code} | {name} | {name} from the voyage data recorder
Speed Through Water | SpeedLog///Speed        | VHW   | kn    | -5..40    | 1 | fast   | speed 1 0 0.12 2
Speed Over Ground   | Gnss///SpeedOverGround  | VTG   | kn    | -5..40    | 1 | fast   | groundSpeed 1 0 0.1 2
Heading             | Gyro///Heading          | THS   | °     | 0..360    | 1 | fast   | heading 1 0 0.8 1
Course Over Ground  | Gnss///CourseOverGround | VTG-C | °     | 0..360    | 1 | normal | heading 1 0 2 1
Rate Of Turn        | Gyro///RateOfTurn       | ROT   | °/min | -720..720 | 1 | normal | constant 0 0 3 1
Rudder Angle        | Steering///RudderAngle  | RSA   | °     | -45..45   | 1 | fast   | constant 0 -0.4 3.5 1
Water Depth         | EchoSounder///Depth     | DPT   | m     | 0..11000  | 1 | normal | atSea 640 14 1.5 1
Distance Log        | SpeedLog///Distance     | VLW   | nm    | 0..9e9    | 1 | slow   | distanceTotal 1 81250 0 3
GPS Position        | Gnss1///Position        | GGA-1 | -     | -         | - | normal | position                  | gaps 0.02
GPS Position        | Gnss2///Position        | GGA-2 | -     | -         | - | slow   | position
Latitude            | Gnss1///Latitude        | GLL-1 | °     | -90..90   | 1 | normal | latitude 1 0 0.00002 5    | grid
Longitude           | Gnss1///Longitude       | GLL-2 | °     | -180..180 | 1 | normal | longitude 1 0 0.00002 5   | grid
Roll                | Motion///Roll           | HRM-R | °     | -45..45   | 1 | fast   | constant 0 0.3 2.5 2
Pitch               | Motion///Pitch          | HRM-P | °     | -20..20   | 1 | fast   | constant 0 0.1 0.8 2
Draught Fore        | Draught///Fore          | DR-F  | m     | 0..20     | 1 | slow   | cargo 0.075 1.2 0.05 2
Draught Aft         | Draught///Aft           | DR-A  | m     | 0..20     | 1 | slow   | cargo 0.078 2.1 0.05 2
= weather | nav | {name} | Weather/Wind/{levels} | 421.1/C811 | 421.1/~weather.monitoring/C811/~sensor | qty-{item}/cnt-air/pos-{position} | {code} | {name} | {name}
Wind Speed            | Relative/Port/Speed          | MWV-P | m/s | 0..60     | 1 | fast   | windSpeed 1 0 1.2 2                            | twice     | Wind Speed, port mast
Wind Speed            | Relative/Starboard/Speed     | MWV-S | m/s | 0..60     | 1 | normal | windSpeed 1.03 0.1 1.2 2                       |           | Wind Speed, starboard mast
Wind Direction        | Relative/Port/Direction      | MWD-P | °   | 0..360    | 1 | normal | windDirection 1 0 6 0                          |           | Wind Direction, port mast
Wind Direction        | Relative/Starboard/Direction | MWD-S | °   | 0..360    | 1 | normal | windDirection 1 0 6 0                          |           | Wind Direction, starboard mast
Air Temperature       | Relative//AirTemp            | MTA   | °C  | -50..60   | 1 | slow   | airTemperature 1 0 0.2 1
Sea Water Temperature | Relative//SeaTemp            | MTW   | °C  | -5..45    | 1 | slow   | seaTemperature 1 0 0.1 2
Barometric Pressure   | Relative//AirPressure        | MMB   | hPa | 850..1100 | 1 | slow   | pressure 1 0 0.2 1
Wave Height           | Relative//WaveHeight         | WH-1  | m   | 0..30     | 1 | slow   | waveHeight 1 0 0.1 2
Relative Humidity     | Relative//Humidity           | MHU   | %   | 0..100    | 1 | slow   | airTemperature -0.8 84 1 0                     | gaps 0.15
Visibility Report     | -                            | -     | -   | -         | - | rare   | choice ["good","moderate","poor, fog patches"]
= fuel | mac | {name} | FuelSystem/{levels} | - | - |  | {code} | {name} | {name}, mass flow meter
AE Fuel Oil Consumption     | AuxEngine//Inlet/MassFlow | FE-7701 | kg/h  | 0..900  | 0.01 | normal | auxFuelRate 1 0 1.5 2
Boiler Fuel Oil Consumption | Boiler//Inlet/MassFlow    | FE-8701 | kg/h  | 0..500  | 0.01 | normal | boilerFuelRate 1 0 1 2
Fuel Oil Density            | Supply//Inlet/Density     | DE-1750 | kg/m³ | 0..1100 | 0.01 | slow   | constant 0 952 1.2 1
Fuel Oil Supply Temp        | Supply//Inlet/Temp        | TE-1750 | °C    | 0..160  | 0.01 | slow   | load 0.1 96 0.4 1
Fuel Oil Sulphur            | Supply//Inlet/Sulphur     | QE-1750 | %     | 0..4    | 0.01 | rare   | constant 0 0.47 0.02 2
FO Changeover               | Supply//Inlet/Valve       | XS-1760 |       | 0..0    | 0.01 | slow   | choice ["HFO","HFO","MGO"] | gaps 0.1
FO Leak Count               | Supply//Inlet/Leaks       | LQ-1770 |       | 0..1000 | 0.01 | slow   | long atSea 1 -1 0.6
= generator | mac | AE# {name} | AuxEngine/Engine#/{levels} | 411.2-#/C101 | 411.2-#/~auxiliary.driver/C101/~engine | qty-{item}/cnt-{content}/pos-{position} | {code}# | AE# {name} | Generator engine #: {lower}
Power              | //Power               | JE-711 | kW  | 0..1200    | 0.1 | fast   | auxPower 1x 0 4 1
Speed              | //RotationalFrequency | SE-711 | rpm | 0..1000    | 0.1 | normal | constant 0 720 2 0
Voltage            | Generator//Voltage    | EE-711 | V   | 0..500     | 0.1 | normal | constant 0 450 1 1
Frequency          | Generator//Frequency  | SE-712 | Hz  | 0..70      | 0.1 | normal | constant 0 60 0.05 2
Exhaust Gas Temp   | ExhaustGas//Temp      | TE-715 | °C  | 0..600     | 0.1 | normal | auxPower 0.45x 230 3 1
Lub Oil Press      | LubOil//Press         | PE-716 | bar | 0..8       | 0.1 | normal | auxPower 0.0003 4.1 0.04 2
Lub Oil Temp       | LubOil//Temp          | TE-716 | °C  | 0..110     | 0.1 | slow   | auxPower 0.006 62 0.4 1
Cooling Water Temp | CoolingWater//Temp    | TE-717 | °C  | 0..110     | 0.1 | slow   | auxPower 0.008 71 0.4 1       | with 411.2-#/C101.72
Winding Temp       | Generator//Temp       | TE-718 | °C  | 0..160     | 0.1 | slow   | auxPower 0.03 55 0.5 1
Running Hours      | //Hours               | KQ-711 | h   | 0..1000000 | 0.1 | rare   | counter hoursTotal 0.8x 12000
= tank | mac | {name} Level | Tank/{levels} | - | - |  | {code} | {name} Level | {name}: level by radar
HFO Tank 1P      | HFOTank1P///Level      | LE-9001 | % | 0..100 | 0.1 | slow | bunker 0.92 4 0.2 1 | grid
HFO Tank 1S      | HFOTank1S///Level      | LE-9002 | % | 0..100 | 0.1 | slow | bunker 0.89 4 0.2 1 | grid
HFO Tank 2P      | HFOTank2P///Level      | LE-9003 | % | 0..100 | 0.1 | slow | bunker 0.8600000000000001 4 0.2 1 | grid
HFO Tank 2S      | HFOTank2S///Level      | LE-9004 | % | 0..100 | 0.1 | slow | bunker 0.8300000000000001 4 0.2 1 | grid
MGO Tank         | MGOTank///Level        | LE-9005 | % | 0..100 | 0.1 | slow | bunker 0.8 4 0.2 1 | grid
LO Sump Tank     | LOSumpTank///Level     | LE-9006 | % | 0..100 | 0.1 | slow | bunker 0.77 4 0.2 1 | grid
Fresh Water Tank | FreshWaterTank///Level | LE-9007 | % | 0..100 | 0.1 | slow | bunker 0.74 4 0.2 1 | grid
Ballast 1P       | Ballast1P///Level      | LE-9008 | % | 0..100 | 0.1 | slow | cargo -0.9 89 0.3 1 | grid
Ballast 1S       | -                      | LE-9009 | % | 0..100 | 0.1 | slow | cargo -0.9 88 0.3 1 | grid
Ballast 2P       | -                      | LE-9010 | % | 0..100 | 0.1 | slow | cargo -0.9 87 0.3 1 | grid
Ballast 2S       | -                      | LE-9011 | % | 0..100 | 0.1 | slow | cargo -0.9 86 0.3 1 | grid, no tag
Aft Peak         | -                      | LE-9012 | % | 0..100 | 0.1 | slow | cargo -0.9 85 0.3 1 | grid, no tag
= calculated | calc | {name} | - | - | - |  | {code} | {name}
Fuel/Distance Ratio | - | CALC/1 | kg/nm | 0..1000 | 1 | slow | atSea 55 2 2 1 | grid | Fuel per nautical mile at service speed |  | FUEL DISTANCE RATIO
= odd | mac | {name} | - | - | - |  | {code} | {name}
Alarm State      | - | XA-0001 | - | - | - | rare | choice [{"active":0,"texts":[]},{"active":1,"texts":["AE2 LO press, low"]},{"active":2,"texts":["Bilge \"aft\"","Færøsund } test"]}] |      | Alarm system summary
-                | - | -       | - | - | - | rare | seaTemperature 1 0 0.5 3
Shore Connection | - | -       | - | - | - | rare | flag atSea 1.5 | grid
`;
